use proptest::prelude::*;

use super::*;

fn read(pieces: &[&[u8]]) -> Vec<Event> {
    let mut reader = EventReader::default();
    pieces.iter().flat_map(|piece| reader.feed(piece).unwrap()).collect()
}

fn event(name: &str, data: &str) -> Event {
    Event { name: name.to_string(), data: data.to_string() }
}

#[test]
fn an_event_has_a_name_and_data() {
    assert_eq!(read(&[b"event: ping\ndata: {}\n\n"]), [event("ping", "{}")]);
}

#[test]
fn an_event_without_a_name_is_called_message() {
    assert_eq!(
        read(&[b"data: a\n\nevent: x\ndata: b\n\ndata: c\n\n"]),
        [event("message", "a"), event("x", "b"), event("message", "c"),]
    );
}

#[test]
fn lf_cr_and_crlf_end_a_line() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = "event: a\ndata: 1\n\nevent: b\ndata: 2\n\n".replace('\n', end);
        assert_eq!(read(&[stream.as_bytes()]), [event("a", "1"), event("b", "2")], "{end:?}");
    }
}

#[test]
fn line_ends_may_be_mixed() {
    assert_eq!(
        read(&[b"event: a\r\ndata: 1\rdata: 2\n\r\ndata: 3\r\r"]),
        [event("a", "1\n2"), event("message", "3"),]
    );
}

#[test]
fn cr_and_lf_in_two_chunks_are_one_line_end() {
    assert_eq!(read(&[b"data: 1\r", b"\ndata: 2\r", b"\n\r", b"\n"]), [event("message", "1\n2")]);
}

#[test]
fn an_event_that_ends_in_cr_does_not_wait_for_the_next_byte() {
    assert_eq!(read(&[b"data: 1\r\n\r"]), [event("message", "1")]);
}

#[test]
fn a_lf_after_an_empty_chunk_still_belongs_to_the_cr() {
    assert_eq!(read(&[b"data: 1\r", b"", b"\ndata: 2\n\n"]), [event("message", "1\n2")]);
}

#[test]
fn a_comment_is_no_event() {
    assert_eq!(
        read(&[b": PROCESSING\n\n:\n\ndata: a\n: b\ndata: c\n\n"]),
        [event("message", "a\nc")]
    );
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_only() {
    assert_eq!(read(&[b"\xef\xbb\xbfdata: a\n\n"]), [event("message", "a")]);
    assert_eq!(read(&[b"\xef", b"\xbb", b"\xbfdata: a\n\n"]), [event("message", "a")]);
    assert_eq!(read(&[b"\xef\xbb\xbf\ndata: a\n\n"]), [event("message", "a")]);
    assert_eq!(read(&["data: a\n\n\u{feff}data: b\n\n".as_bytes()]), [event("message", "a")]);
}

#[test]
fn several_data_lines_are_joined_by_line_feeds() {
    assert_eq!(read(&[b"data: a\ndata:\ndata: b\n\n"]), [event("message", "a\n\nb")]);
}

#[test]
fn one_space_after_the_colon_is_not_data() {
    assert_eq!(
        read(&[b"data:a\n\ndata:  b \n\n"]),
        [event("message", "a"), event("message", " b ")]
    );
}

#[test]
fn a_field_without_a_colon_has_an_empty_value() {
    assert_eq!(
        read(&[b"data\n\n", b"data\ndata\n\n"]),
        [event("message", ""), event("message", "\n")]
    );
}

#[test]
fn a_colon_in_the_data_stays() {
    assert_eq!(read(&[b"data: {\"a\": 1}\n\n"]), [event("message", "{\"a\": 1}")]);
}

#[test]
fn unknown_fields_are_skipped() {
    assert_eq!(
        read(&[b"id: 1\nretry: 5\nDATA: x\n data: y\ndata: a\n\n"]),
        [event("message", "a")]
    );
}

#[test]
fn a_name_without_data_is_no_event_and_is_forgotten() {
    assert_eq!(read(&[b"event: a\n\ndata: b\n\n"]), [event("message", "b")]);
}

#[test]
fn an_event_without_its_end_is_dropped() {
    assert_eq!(read(&[b"data: a\n\nevent: b\ndata: c\n"]), [event("message", "a")]);
    assert_eq!(read(&[b"data: a\n\nevent: b\ndata: c"]), [event("message", "a")]);
}

#[test]
fn a_character_cut_in_two_arrives_whole() {
    assert_eq!(read(&[b"data: \xf0\x9f", b"\xa6\x80\n\n"]), [event("message", "🦀")]);
}

#[test]
fn bytes_that_are_no_utf8_become_replacement_characters() {
    assert_eq!(
        read(&[b"data: a\xff\xf0\x9f\ndata: b\n\n"]),
        [event("message", "a\u{fffd}\u{fffd}\nb")]
    );
}

#[test]
fn a_line_without_end_is_an_error_and_not_growth() {
    let mut reader = EventReader::default();
    let chunk = vec![b'x'; 1024 * 1024];
    let fed = (0..100).take_while(|_| reader.feed(&chunk).is_ok()).count();
    assert_eq!(fed, 8);
    assert!(reader.line.len() <= LIMIT);
}

#[test]
fn an_event_of_endless_data_lines_is_an_error_and_not_growth() {
    let mut reader = EventReader::default();
    let chunk = "data: 1234567890\n".repeat(10_000);
    let fed = (0..1000).take_while(|_| reader.feed(chunk.as_bytes()).is_ok()).count();
    assert_eq!(fed, 76); // of 110,000 bytes of data each
    assert!(reader.event.data.len() <= LIMIT);
}

/// Every rule in one small stream.
const SMALL: &[u8] = b"\xef\xbb\xbf: hi\r\nevent: a\r\ndata: \xc3\xa9\xf0\x9f\xa6\x80\r\n\r\n\
    data: 1\rdata\rdata:  2\r\r:\n\nevent: lost\n\nid: 3\ndata: z\n\r\ndata: open";

fn events_of_small() -> [Event; 3] {
    [event("a", "é🦀"), event("message", "1\n\n 2"), event("message", "z")]
}

#[test]
fn every_way_to_cut_a_small_stream_in_three_gives_the_same_events() {
    for first in 0..=SMALL.len() {
        for second in first..=SMALL.len() {
            let pieces = [&SMALL[..first], &SMALL[first..second], &SMALL[second..]];
            assert_eq!(read(&pieces), events_of_small(), "cut at {first} and {second}");
        }
    }
}

#[test]
fn byte_by_byte_gives_the_same_events() {
    assert_eq!(read(&SMALL.chunks(1).collect::<Vec<_>>()), events_of_small());
}

proptest! {
    #[test]
    fn any_stream_gives_the_same_events_however_it_is_cut(
        parts in prop::collection::vec(prop::sample::select(vec![
            "\r", "\n", "\r\n", "\n\n", "data", "data:", "data: x", "event: e", ":", " ", "é", "🦀",
            "\u{feff}", "id: 1", "\0",
        ]), 0..60),
        odd in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut stream = parts.concat().into_bytes();
        for (at, byte) in odd {
            stream.insert(at.index(stream.len() + 1), byte);
        }
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read(&pieces), read(&[&stream]));
    }

    #[test]
    fn any_data_comes_back_as_it_was_sent(data in "[^\r]{0,80}", chunk in 1usize..9) {
        let lines: Vec<String> = data.split('\n').map(|line| format!("data: {line}\n")).collect();
        let stream = lines.concat() + "\n";
        let pieces: Vec<&[u8]> = stream.as_bytes().chunks(chunk).collect();
        prop_assert_eq!(read(&pieces), [event("message", &data)]);
    }
}
