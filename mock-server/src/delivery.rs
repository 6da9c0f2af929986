//! How a reply goes out: event by event, with the waits and breaks that its line asks for.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};

use crate::gate::Hold;
use crate::scene::Fault;

/// After a cut, and before a drop: so that the bytes before it travel by themselves.
const SETTLE: Duration = Duration::from_millis(5);

pub enum Step {
    Send(Bytes),
    Wait(Duration),
    Hold(Arc<Hold>),
    /// The connection ends here.
    Drop,
}

/// The steps of a reply that is sent in these chunks (events, or the whole JSON as one).
/// `strikes`: whether stall and drop happen on this attempt.
pub fn steps(
    chunks: Vec<Vec<u8>>,
    pace: Duration,
    fault: &Fault,
    strikes: bool,
    holds: &[Arc<Hold>],
) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    let drop_at = fault.drop_at.filter(|_| strikes);
    let mut sent = 0;
    for (index, mut chunk) in chunks.into_iter().enumerate() {
        if let Some((_, wait)) = fault.stall.filter(|(after, _)| strikes && *after == index) {
            steps.push_back(Step::Wait(wait));
        }
        steps.extend(holds.iter().filter(|hold| hold.after == index).cloned().map(Step::Hold));
        if index > 0 && !pace.is_zero() {
            steps.push_back(Step::Wait(pace));
        }
        let dropped = drop_at.is_some_and(|at| at <= sent + chunk.len());
        chunk.truncate(drop_at.map_or(usize::MAX, |at| at.saturating_sub(sent)));
        send(&mut steps, chunk, &mut sent, &fault.cut);
        if dropped {
            steps.extend([Step::Wait(SETTLE), Step::Drop]);
            break;
        }
    }
    steps
}

/// Sends a chunk, in parts where a cut falls into it.
fn send(steps: &mut VecDeque<Step>, chunk: Vec<u8>, sent: &mut usize, cuts: &[usize]) {
    let mut inside: Vec<usize> = cuts
        .iter()
        .filter_map(|cut| cut.checked_sub(*sent))
        .filter(|cut| (1..chunk.len()).contains(cut))
        .collect();
    inside.sort_unstable();
    *sent += chunk.len();
    let mut rest = Bytes::from(chunk);
    let mut taken = 0;
    for cut in inside {
        steps.push_back(Step::Send(rest.split_to(cut - taken)));
        steps.push_back(Step::Wait(SETTLE));
        taken = cut;
    }
    if !rest.is_empty() {
        steps.push_back(Step::Send(rest));
    }
}

/// A body that carries the steps out.
pub struct Delivery<E: FnMut(bool) + Unpin> {
    steps: VecDeque<Step>,
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Bytes left, where the reply is not streamed.
    length: Option<u64>,
    /// Called once at the end: whether all has gone out.
    ended: E,
}

impl<E: FnMut(bool) + Unpin> Delivery<E> {
    pub fn new(steps: VecDeque<Step>, streamed: bool, ended: E) -> Self {
        let is_whole = !streamed && !steps.iter().any(|step| matches!(step, Step::Drop));
        let bytes = steps.iter().map(|step| match step {
            Step::Send(bytes) => bytes.len() as u64,
            _ => 0,
        });
        let length = is_whole.then(|| bytes.sum());
        Self { steps, waiting: None, length, ended }
    }
}

impl<E: FnMut(bool) + Unpin> Body for Delivery<E> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        loop {
            if let Some(waiting) = &mut this.waiting {
                ready!(waiting.as_mut().poll(context));
                this.waiting = None;
            }
            match this.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Send(bytes)) => {
                    if let Some(length) = &mut this.length {
                        *length -= bytes.len() as u64;
                    }
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Step::Wait(time)) => this.waiting = Some(Box::pin(tokio::time::sleep(time))),
                Some(Step::Hold(hold)) => {
                    this.waiting = Some(Box::pin(async move { hold.pass().await }));
                }
                Some(Step::Drop) => {
                    // Put back: the reply has not gone out whole.
                    this.steps.push_front(Step::Drop);
                    return Poll::Ready(Some(Err(io::Error::other("dropped by the scene"))));
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map(SizeHint::with_exact).unwrap_or_default()
    }
}

impl<E: FnMut(bool) + Unpin> Drop for Delivery<E> {
    fn drop(&mut self) {
        (self.ended)(self.steps.is_empty() && self.waiting.is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps in short: bytes that are sent, `-` for a wait, `!` for a drop.
    fn shape(events: &[&str], fault: &Fault, strikes: bool) -> Vec<String> {
        let chunks = events.iter().map(|event| event.as_bytes().to_vec()).collect();
        steps(chunks, Duration::ZERO, fault, strikes, &[])
            .into_iter()
            .map(|step| match step {
                Step::Send(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Step::Wait(_) | Step::Hold(_) => "-".into(),
                Step::Drop => "!".into(),
            })
            .collect()
    }

    #[test]
    fn a_network_chunk_ends_at_every_cut_through_a_character_if_need_be() {
        let fault = Fault { cut: vec![3, 5, 1], ..Fault::default() };
        // “ß” takes the bytes 2 and 3: the cut at 3 parts it.
        let halves = ["a", "-", "b\u{fffd}", "-", "\u{fffd}", "c", "-", "d"];
        assert_eq!(shape(&["abß", "cd"], &fault, true), halves);
    }

    #[test]
    fn a_drop_ends_the_reply_at_its_byte_where_it_strikes() {
        let fault = Fault { drop_at: Some(4), ..Fault::default() };
        assert_eq!(shape(&["abc", "def", "ghi"], &fault, true), ["abc", "d", "-", "!"]);
        assert_eq!(shape(&["abc", "def", "ghi"], &fault, false), ["abc", "def", "ghi"]);
    }

    #[test]
    fn a_stall_waits_after_its_event() {
        let fault = Fault { stall: Some((2, Duration::from_secs(1))), ..Fault::default() };
        assert_eq!(shape(&["a", "b", "c"], &fault, true), ["a", "b", "-", "c"]);
    }
}
