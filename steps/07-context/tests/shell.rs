use super::*;

async fn run(line: &str) -> String {
    run_shell(Path::new("."), line, Duration::from_secs(60)).await.unwrap()
}

/// A command that runs out of time: what the model is told. The time is enough for a shell to
/// begin on a busy machine.
async fn run_too_long(line: &str) -> String {
    let limit = Duration::from_secs(2);
    run_shell(Path::new("."), line, limit).await.unwrap_err().to_string()
}

#[tokio::test]
async fn output_and_errors_come_in_the_order_they_were_written() {
    let line = "echo one; echo two >&2; echo three; exit 3";
    assert_eq!(run(line).await, "exit code 3\none\ntwo\nthree\n");
}

#[tokio::test]
async fn bytes_that_are_no_text_become_replacement_characters() {
    assert_eq!(run(r"printf 'a\377b\303'").await, "exit code 0\na\u{fffd}b\u{fffd}");
}

#[tokio::test]
async fn a_command_that_reads_finds_the_end_of_its_input() {
    assert_eq!(run("cat; read line || echo nothing").await, "exit code 0\nnothing\n");
}

#[tokio::test]
async fn a_hanging_command_is_ended_with_its_children() {
    let text = run_too_long("echo begun; sleep 600 & sleep 600").await;
    assert_eq!(text, "stopped after 2s, and its process group ended\nbegun\n");
}

#[tokio::test]
async fn a_background_child_that_keeps_the_pipe_does_not_hold_the_tool() {
    // The text says it: after 30 seconds, the pipe would be closed.
    let text = run("sleep 30 & echo done").await;
    assert_eq!(text, "exit code 0, but something it started still runs\ndone\n");
}

#[tokio::test]
async fn of_a_long_output_beginning_and_end_are_kept_and_the_rest_is_counted() {
    let text = run("echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last").await;
    assert!(text.ends_with("xxx\nlast\n"));
    let left_out = 6 + 5_000_000 + 6 - HEAD - TAIL;
    let lost =
        format!("[{left_out} bytes in the middle of this output are lost, no file has them]");
    let begin = format!("exit code 0\n{lost}\nfirst\nxxx");
    assert!(text.starts_with(&begin));
    assert!(text.contains(&format!("[{left_out} bytes are left out here")));
    assert!(text.len() < HEAD + TAIL + 200);
}

#[tokio::test]
async fn output_without_end_is_ended_by_the_time_and_not_kept() {
    let text = run_too_long("yes").await;
    assert!(text.starts_with("stopped after 2s"));
    assert!(text.len() < HEAD + TAIL + 200);
}

#[test]
fn gigabytes_leave_memory_flat() {
    let mut output = Output::default();
    let piece = [b'x'; 16_384];
    for _ in 0..70_000 {
        output.push(&piece);
    }
    assert!(output.tail.capacity() < 2 * TAIL && output.head.capacity() <= 2 * HEAD);
    assert_eq!(output.left_out, 70_000 * 16_384 - (HEAD + TAIL) as u64);
}

#[test]
fn a_cut_through_a_character_leaves_no_half_of_it() {
    // Three bytes a character, so the cuts fall inside one for most of these beginnings.
    for shift in 0..3 {
        let mut output = Output::default();
        output.push("x".repeat(shift).as_bytes());
        output.push("灯".repeat(20_000).as_bytes());
        assert!(!output.text().contains('\u{fffd}'), "shifted by {shift}");
    }
}

#[test]
fn whole_characters_ends_before_a_torn_one() {
    let text = "a灯é🔥".as_bytes();
    let ends: Vec<usize> = (0..=text.len()).map(|cut| whole_characters(&text[..cut])).collect();
    assert_eq!(ends, [0, 1, 1, 1, 4, 4, 6, 6, 6, 6, 10]);
}

#[tokio::test]
async fn an_editor_and_a_pager_do_not_wait_for_a_person() {
    assert_eq!(run("$EDITOR x; echo $PAGER $GIT_TERMINAL_PROMPT").await, "exit code 0\ncat 0\n");
}
