//! What came and what was answered, for the stage, for tests, and at `/_journal`.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Value, json};

use crate::{Exchange, Fault, FaultKind};

/// Kept where the server stands alone: the newest 200 exchanges, and 16 MB of requests.
const NEWEST: usize = 200;
const BYTES: usize = 16 << 20;

/// Exchanges and faults, all of them or the newest.
#[derive(Debug)]
pub struct Journal {
    started: Instant,
    bounded: bool,
    /// With the size of each request.
    exchanges: VecDeque<(usize, Exchange)>,
    bytes: usize,
    faults: VecDeque<Fault>,
}

impl Journal {
    pub fn new(bounded: bool) -> Self {
        Self {
            started: Instant::now(),
            bounded,
            exchanges: VecDeque::new(),
            bytes: 0,
            faults: VecDeque::new(),
        }
    }

    pub fn add(&mut self, exchange: Exchange, size: usize) {
        self.bytes += size;
        self.exchanges.push_back((size, exchange));
        while self.bounded && (self.exchanges.len() > NEWEST || self.bytes > BYTES) {
            let Some((size, _)) = self.exchanges.pop_front() else { break };
            self.bytes -= size;
        }
    }

    /// Changes the exchange with this number, if it is still kept.
    pub fn change(&mut self, number: usize, change: impl FnOnce(&mut Exchange)) {
        let found = self.exchanges.iter_mut().rev().find(|(_, kept)| kept.number == number);
        if let Some((_, exchange)) = found {
            change(exchange);
        }
    }

    pub fn add_fault(&mut self, fault: Fault) {
        self.faults.push_back(fault);
        while self.bounded && self.faults.len() > NEWEST {
            self.faults.pop_front();
        }
    }

    pub fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.iter().map(|(_, exchange)| exchange.clone()).collect()
    }

    pub fn faults(&self) -> Vec<Fault> {
        self.faults.iter().cloned().collect()
    }

    /// The journal as JSON; times in milliseconds since the server started.
    pub fn to_json(&self) -> Value {
        let since = |time: Instant| time.duration_since(self.started).as_millis() as u64;
        let exchanges: Vec<Value> = self
            .exchanges
            .iter()
            .map(|(_, exchange)| {
                json!({
                    "number": exchange.number,
                    "part": exchange.place.as_ref().map(|(part, _)| part),
                    "line": exchange.place.as_ref().map(|(_, line)| line),
                    "attempt": exchange.attempt,
                    "came_ms": since(exchange.came),
                    "gone_ms": exchange.gone.map(since),
                    "request": exchange.request,
                    "status": exchange.status,
                    "reply": exchange.reply,
                })
            })
            .collect();
        let faults: Vec<Value> = self.faults.iter().map(fault_json).collect();
        json!({"exchanges": exchanges, "faults": faults})
    }
}

fn fault_json(fault: &Fault) -> Value {
    let kind = match fault.kind {
        FaultKind::Protocol => "protocol",
        FaultKind::Unexpected => "unexpected",
        FaultKind::Missed => "missed",
    };
    json!({"request": fault.request, "kind": kind, "message": fault.message})
}
