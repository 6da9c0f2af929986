//! The strictness alone, without a server: for tests that make many requests and send none.

use serde_json::Value;

use crate::scene::Limits;
use crate::{strict, usage};

/// The tokens that a request would be charged for, or the message of the 400 that it would get.
pub fn judge(body: &Value, limits: &Limits) -> Result<u64, String> {
    let tokens = usage::Measured::new(body, &[]).total();
    strict::check(body, limits, tokens)?;
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_is_judged_as_the_server_does() {
        let limits = Limits { context_window: 100, max_output: 50, cache_minimum: 1 };
        let request = |text: &str| json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]});
        assert_eq!(judge(&request("four letters a token"), &limits), Ok(5));
        let answer = judge(&request(&"word ".repeat(100)), &limits);
        assert_eq!(answer, Err("prompt is too long: 125 tokens > 100 maximum".into()));
        let answer = judge(&request(""), &limits).unwrap_err();
        assert!(answer.contains("non-empty"), "{answer}");
    }
}
