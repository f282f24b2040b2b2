//! Whom a group speaks to (sections 2.1, 2.2.1).

use super::Table;

const THREE: &str = "User-Agent: ExampleBot\nDisallow: /private/\nDisallow: /*.gif$\n\nUser-Agent: *\nDisallow: /all/\n\n\
                     User-Agent: foobot\nAllow: /\n";
const MERGE: &str = "user-agent: zebra\ndisallow: /a\n\nuser-agent: other\ndisallow: /o\n\nuser-agent: zebra\nallow: /a/open\ndisallow: /b\n";

// One row a line reads better than one value a line.
#[rustfmt::skip]
pub(super) const TABLES: &[Table] = &[
    Table { about: "2.2.1 own group", agent: "examplebot", body: THREE, expect: &[
        ("/private/x", false), ("/private", true), ("/i.gif", false), ("/i.gif?x", true), ("/all/x", true), ("/", true),
    ] },
    Table { about: "2.2.1 fall back to star", agent: "nobody", body: THREE, expect: &[
        ("/private/x", true), ("/all/", false), ("/all", true), ("/i.gif", true),
    ] },
    Table { about: "2.2.1 own group may open what star closes", agent: "FooBot", body: THREE, expect: &[
        ("/all/x", true), ("/private/x", true),
    ] },
    Table { about: "2.2.1 no group at all", agent: "a", body: "user-agent: b\ndisallow: /\n", expect: &[("/", true), ("/x", true)] },
    Table { about: "2.2.1 own group without rules beats star", agent: "a", body: "user-agent: *\ndisallow: /\nuser-agent: a\n", expect: &[
        ("/", true), ("/x", true),
    ] },
    Table { about: "2.2.1 groups merge", agent: "Zebra", body: MERGE, expect: &[
        ("/a", false), ("/a/open", true), ("/b", false), ("/o", true), ("/c", true),
    ] },
    Table { about: "2.2.1 the other is untouched by the merge", agent: "other", body: MERGE, expect: &[
        ("/a", true), ("/b", true), ("/o", false),
    ] },
    Table { about: "2.2.1 star groups merge", agent: "x", body: "user-agent: *\ndisallow: /a\nuser-agent: y\ndisallow: /\nuser-agent: *\ndisallow: /b", expect: &[
        ("/a", false), ("/b", false), ("/c", true),
    ] },
    Table { about: "2.2.1 token case", agent: "EXAMPLE-Bot_x", body: "user-agent: example-bot_X\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "2.2.1 version in the line is no part of the token", agent: "foo", body: "user-agent: foo/1.2\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "2.2.1 words after the token", agent: "foo", body: "user-agent: foo bar\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "2.2.1 the second word is not a token", agent: "bar", body: "user-agent: foo bar\ndisallow: /x", expect: &[("/x", true)] },
    Table { about: "2.2.1 version in the asker is no part of the token", agent: "foo/7.0 (+http://x)", body: "user-agent: foo\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "2.2.1 a longer token in the file", agent: "foo", body: "user-agent: foobar\ndisallow: /x", expect: &[("/x", true)] },
    Table { about: "2.2.1 a shorter token in the file", agent: "foobar", body: "user-agent: foo\ndisallow: /x", expect: &[("/x", true)] },
    Table { about: "2.2.1 a family's name is not its member's", agent: "foo-news", body: "user-agent: foo\ndisallow: /x\nuser-agent: *\ndisallow: /y", expect: &[
        ("/x", true), ("/y", false),
    ] },
    Table { about: "2.2.1 a token inside a longer word", agent: "bot", body: "user-agent: goodbot\ndisallow: /x", expect: &[("/x", true)] },
    Table { about: "2.2.1 star with words", agent: "foo", body: "user-agent: * all of you\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "2.2.1 star is not a pattern", agent: "foobot", body: "user-agent: *bot\ndisallow: /x", expect: &[("/x", true)] },
    Table { about: "2.2.1 no trailing pattern either", agent: "foobot", body: "user-agent: foo*\ndisallow: /x", expect: &[("/x", true)] },
    Table { about: "2.2.1 an empty agent names nobody", agent: "foo", body: "user-agent:\ndisallow: /x", expect: &[("/x", true)] },
    Table { about: "2.2.1 an empty agent in a list", agent: "foo", body: "user-agent:\nuser-agent: foo\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "2.2.1 an asker without a token gets star", agent: "123", body: "user-agent: 123\ndisallow: /n\nuser-agent: *\ndisallow: /x", expect: &[
        ("/x", false), ("/n", true),
    ] },
    Table { about: "2.2.1 order of groups does not matter", agent: "foo", body: "user-agent: *\ndisallow: /s\nuser-agent: foo\ndisallow: /f", expect: &[
        ("/s", true), ("/f", false),
    ] },
    Table { about: "2.2.1 one group for both us and star", agent: "foo", body: "user-agent: foo\nuser-agent: *\ndisallow: /x\nuser-agent: *\ndisallow: /y", expect: &[
        ("/x", false), ("/y", true),
    ] },
    Table { about: "2.2.1 the same, asked by another", agent: "zed", body: "user-agent: foo\nuser-agent: *\ndisallow: /x\nuser-agent: *\ndisallow: /y", expect: &[
        ("/x", false), ("/y", false),
    ] },
    Table { about: "2.2.1 three in a row", agent: "b", body: "user-agent: a\nuser-agent: b\nuser-agent: c\ndisallow: /x\nallow: /x/y", expect: &[
        ("/x", false), ("/x/y", true),
    ] },
    Table { about: "2.1 rules before any agent belong to nobody", agent: "foo", body: "disallow: /\nuser-agent: foo\ndisallow: /x", expect: &[
        ("/y", true), ("/x", false),
    ] },
    Table { about: "2.1 rules without any agent", agent: "foo", body: "allow: /\ndisallow: /x", expect: &[("/x", true), ("/", true)] },
    Table { about: "2.2.4 a sitemap between agents", agent: "a", body: "user-agent: a\nsitemap: http://h/s\nuser-agent: b\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "2.2.4 a sitemap inside rules", agent: "a", body: "user-agent: a\ndisallow: /x\nsitemap: http://h/s\ndisallow: /y", expect: &[
        ("/x", false), ("/y", false),
    ] },
    Table { about: "2.2.4 an unknown record between agents", agent: "a", body: "user-agent: a\nunicorns: yes\nuser-agent: b\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "2.2.4 an unknown record between rules", agent: "a", body: "user-agent: a\ndisallow: /x\nunicorns: yes\ndisallow: /y", expect: &[("/y", false)] },
    Table { about: "blank lines end no group", agent: "a", body: "user-agent: a\n\n\ndisallow: /x\n\ndisallow: /y", expect: &[("/x", false), ("/y", false)] },
    Table { about: "blank lines between agents", agent: "a", body: "user-agent: a\n\nuser-agent: b\n\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "a useless rule closes the list of agents", agent: "a", body: "user-agent: a\ndisallow: nonsense\nuser-agent: b\ndisallow: /", expect: &[("/x", true)] },
];
