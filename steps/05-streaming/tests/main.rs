use super::*;

fn words(line: &str) -> Vec<String> {
    line.split(' ').filter(|word| !word.is_empty()).map(String::from).collect()
}

#[test]
fn an_option_has_the_word_behind_it_unless_that_is_the_next_option() {
    let read = |line: &str| {
        let words = words(line);
        let (question, resume) = read_options(&words).unwrap();
        (question.map(String::from), resume.map(|name| name.map(String::from)))
    };
    let text = |text: &str| Some(text.to_string());
    assert_eq!(read(""), (None, None));
    assert_eq!(read("-p hello"), (text("hello"), None));
    assert_eq!(read("--resume"), (None, Some(None)));
    assert_eq!(read("--resume -p hello"), (text("hello"), Some(None)));
    assert_eq!(read("-p hello --resume 2026"), (text("hello"), Some(text("2026"))));
}

#[test]
fn a_word_that_means_nothing_is_named() {
    for (line, word) in [
        ("-p hello --resum", "--resum"),
        ("hello", "hello"),
        ("--resume 2026 2027", "2027"),
        ("-p", "-p"),
    ] {
        assert_eq!(read_options(&words(line)), Err(word), "{line}");
    }
    let blank = ["-p".to_string(), "  ".to_string()];
    assert_eq!(read_options(&blank), Err("-p"));
}
