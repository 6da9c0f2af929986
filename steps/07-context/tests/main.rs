use super::*;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(String::from).collect()
}

#[test]
fn an_option_has_the_word_behind_it_unless_that_is_the_next_option() {
    assert_eq!(value_of("-p", &words("-p hello")), Some(Some("hello")));
    assert_eq!(value_of("--resume", &words("--resume -p hello")), Some(None));
    assert_eq!(value_of("--resume", &words("-p hello --resume 2026")), Some(Some("2026")));
    assert_eq!(value_of("--resume", &words("-p hello")), None);
}
