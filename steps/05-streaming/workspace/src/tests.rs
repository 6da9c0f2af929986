use crate::watch::Watch;

const WATCH: Watch = Watch { minutes: 750 };

#[test]
fn a_begun_hour_is_not_logged() {
    assert_eq!(WATCH.hours_logged(), 12);
}

#[test]
fn a_begun_hour_needs_oil() {
    assert_eq!(WATCH.hours_of_oil(), 13);
}
