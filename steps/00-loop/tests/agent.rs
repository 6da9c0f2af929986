use super::*;

#[test]
fn an_unknown_tool_is_named_beside_the_one_there_is() {
    let error = run_tool("grep", &json!({})).unwrap_err().to_string();
    assert_eq!(error, "the model called grep, and the only tool is read_file");
}

#[test]
fn a_file_that_is_missing_is_named() {
    let error = run_tool("read_file", &json!({"path": "no/such/file"})).unwrap_err();
    assert!(format!("{error:#}").starts_with("no/such/file cannot be read: "), "{error:#}");
}
