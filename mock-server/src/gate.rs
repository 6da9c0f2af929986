//! Gates: a test holds a reply at a certain event until it says so, instead of sleeping.

use std::sync::Arc;

use tokio::sync::watch;

use crate::place::Place;

/// The server's side.
pub struct Hold {
    pub place: Place,
    /// How many events go out before.
    pub after: usize,
    reached: watch::Sender<bool>,
    open: watch::Receiver<bool>,
}

/// The test's side. The reply goes on when it is released or dropped.
pub struct Gate {
    reached: watch::Receiver<bool>,
    open: watch::Sender<bool>,
}

pub fn gate(place: Place, after: usize) -> (Arc<Hold>, Gate) {
    let (reached, reached_receiver) = watch::channel(false);
    let (open, open_receiver) = watch::channel(false);
    let hold = Hold { place, after, reached, open: open_receiver };
    (Arc::new(hold), Gate { reached: reached_receiver, open })
}

impl Hold {
    /// Waits until the gate is open. A gate that was dropped is open.
    pub async fn pass(&self) {
        self.reached.send_replace(true);
        let _ = self.open.clone().wait_for(|open| *open).await;
    }
}

impl Gate {
    /// Waits until a reply stands at the gate.
    pub async fn reached(&mut self) {
        let _ = self.reached.wait_for(|reached| *reached).await;
    }

    /// Lets the reply go on.
    pub fn release(self) {
        self.open.send_replace(true);
    }
}
