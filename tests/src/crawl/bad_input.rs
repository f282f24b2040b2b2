//! Input that makes no sense is refused by name, counted, and loses nothing.

use crate::program::{escapement, last_json, run, stderr};
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn urls_that_make_no_sense_are_named_and_the_rest_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("crawl");
    let long = format!("http://127.0.0.1/{}", "x".repeat(9_000));
    let output = run(&[
        "crawl",
        "ftp://example.org/",
        "http://",
        &long,
        "--out",
        out.to_str().unwrap(),
        "--json",
    ]);
    let errors = stderr(&output);
    for seed in ["ftp://example.org/", "\"http://\"", "xxxxxxxx"] {
        assert!(errors.contains(seed), "{seed}: {errors}");
    }
    assert!(
        errors.contains("no seeds") && !output.status.success(),
        "{errors}"
    );
    assert!(!out.exists(), "a run without seeds leaves nothing behind");
}

#[test]
fn what_has_nothing_to_do_says_how_it_is_used() {
    for args in [
        &["inspect", "url"][..],
        &["inspect", "robots"],
        &["inspect", "robots", "--url", "http://a.example/"],
        &["get", "--frontier", "127.0.0.1:1"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains("Usage:"), "{}", stderr(&output));
    }
}

#[test]
fn a_fake_web_stays_on_loopback_unless_it_is_allowed() {
    let output = run(&["fakeweb", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(1));
    let why = stderr(&output);
    assert!(why.contains("--allow-non-loopback must be given"), "{why}");
}

#[test]
fn a_private_address_is_refused_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("crawl");
    let args = [
        "crawl",
        "http://127.0.0.1:9/",
        "http://[::ffff:10.0.0.1]/",
        "--out",
        out.to_str().unwrap(),
        "--json",
        "--patience",
        "1s",
    ];
    let output = run(&args);
    let summary = last_json(&output);
    assert_eq!(summary["pages"], 0, "{summary}");
    assert_eq!(summary["conserved"], true, "{summary}");
    assert!(
        summary["refused"]["private_address"].as_u64() >= Some(2),
        "{summary}"
    );
    // For people the way out is named as well.
    let said = run(&[
        "crawl",
        "http://127.0.0.1:9/",
        "--out",
        dir.path().join("other").to_str().unwrap(),
        "--patience",
        "1s",
    ]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        said.contains("private_address") && said.contains("--allow-net"),
        "{said}"
    );
}

#[test]
fn the_directory_of_a_node_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("node.toml"), "").unwrap();
    let out = dir.path().to_str().unwrap();
    let output = run(&["crawl", "http://a.example/", "--out", out]);
    let why = stderr(&output);
    assert!(why.contains("directory of a frontier-node"), "{why}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn seeds_that_are_refused_are_shown_short_and_without_control_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("seeds");
    let mut lines =
        b"\xef\xbb\xbfftp://a.example/\nhttp://b.example/\xff\nhttp://\x1b[2J/\n".to_vec();
    lines.resize(lines.len() + 30_000_000, b'x');
    std::fs::write(&list, lines).unwrap();
    let (list, out) = (list.to_str().unwrap(), dir.path().join("crawl"));
    let out = out.to_str().unwrap();
    for (args, code) in [
        (&["crawl", "--seeds", list, "--out", out][..], 1),
        (&["seed", "--seeds", list, "--frontier", "127.0.0.1:1"], 2),
    ] {
        let output = run(args);
        let why = stderr(&output);
        assert!(why.len() < 2_000 && !why.contains('\x1b'), "{why:.2000}");
        assert!(why.contains("(line 2)") && why.contains("\\xff"), "{why}");
        assert!(why.contains("all 4 were refused"), "{why}");
        assert_eq!(output.status.code(), Some(code), "{why}");
    }
}

#[test]
fn one_directory_has_one_crawl() {
    let dir = tempfile::tempdir().unwrap();
    let web = fakeweb::FakeWeb::start(fakeweb::FakeWebOptions::new(6, 1)).unwrap();
    let out = dir.path().join("crawl");
    let mut first = crate::program::crawl_command(&web.seed_url, web.addr, &out);
    let mut first = first
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while web.requests() == 0 {
        assert!(
            first.try_wait().unwrap().is_none(),
            "the first crawl ended early"
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let second = crate::program::crawl_command(&web.seed_url, web.addr, &out)
        .output()
        .unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!second.status.success());
    let errors = stderr(&second);
    assert!(
        errors.contains("another process") || errors.contains("in use") || errors.contains("lock"),
        "{errors}"
    );
}

#[test]
fn a_wrong_key_in_the_settings_is_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("crawl.json"),
        r#"{"version":1,"shards":1,"scope":"host","seeds":[],"dealy":1}"#,
    )
    .unwrap();
    let output = run(&[
        "crawl",
        "http://a.example/",
        "--out",
        dir.path().to_str().unwrap(),
    ]);
    assert!(stderr(&output).contains("dealy"), "{}", stderr(&output));
    assert!(!output.status.success());
}

#[test]
fn inspect_answers_every_line() {
    let mut child = Command::new(escapement())
        .args(["inspect", "url", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = b"http://B\xc3\xbccher.example:80/%7ea?x#f\nnonsense\nhttp://a..b/\n\xff\xfe\n";
    child.stdin.take().unwrap().write_all(lines).unwrap();
    let output = child.wait_with_output().unwrap();
    let answers: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 4);
    assert_eq!(answers[0]["canonical"], "http://xn--bcher-kva.example/~a?x");
    assert_eq!(answers[0]["site"], "xn--bcher-kva.example");
    assert!(
        answers[1..]
            .iter()
            .all(|answer| answer["error"].is_string()),
        "{answers:?}"
    );
}
