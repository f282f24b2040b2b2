//! Paths against patterns (sections 2.2.2, 2.2.3, 5.1, 5.2).

use super::Table;

// One row a line reads better than one value a line.
#[rustfmt::skip]
pub(super) const TABLES: &[Table] = &[
    Table { about: "2.2.2 a prefix", agent: "a", body: "user-agent: a\ndisallow: /fish", expect: &[
        ("/fish", false), ("/fish.html", false), ("/fish/salmon", false), ("/fishheads/x?id=1", false), ("/Fish", true), ("/catfish", true), ("/fis", true), ("/a/fish", true),
    ] },
    Table { about: "2.2.2 a folder", agent: "a", body: "user-agent: a\ndisallow: /fish/", expect: &[
        ("/fish/", false), ("/fish/?id=2", false), ("/fish/x.htm", false), ("/fish", true), ("/fish.html", true), ("/x/fish/", true),
    ] },
    Table { about: "2.2.3 a trailing star adds nothing", agent: "a", body: "user-agent: a\ndisallow: /fish*", expect: &[
        ("/fish", false), ("/fish.html", false), ("/catfish", true),
    ] },
    Table { about: "2.2.3 a star inside", agent: "a", body: "user-agent: a\ndisallow: /*.php", expect: &[
        ("/index.php", false), ("/f/x.php?p", false), ("/f/x.php/", false), ("/.php", false), ("/php", true), ("/x.PHP", true), ("/", true),
    ] },
    Table { about: "2.2.3 star and end", agent: "a", body: "user-agent: a\ndisallow: /*.php$", expect: &[
        ("/x.php", false), ("/f/x.php", false), ("/x.php?p", true), ("/x.php/", true), ("/x.php5", true), ("/x.php.php", false),
    ] },
    Table { about: "2.2.3 star between literals", agent: "a", body: "user-agent: a\ndisallow: /fish*.php", expect: &[
        ("/fish.php", false), ("/fishheads/cat.php?p", false), ("/Fish.PHP", true), ("/fish.html", true),
    ] },
    Table { about: "2.2.3 end alone", agent: "a", body: "user-agent: a\ndisallow: /tmp$", expect: &[("/tmp", false), ("/tmp/", true), ("/tmp?x", true), ("/tm", true)] },
    Table { about: "2.2.3 the root only", agent: "a", body: "user-agent: a\ndisallow: /$", expect: &[("/", false), ("", false), ("/x", true), ("/?x", true)] },
    Table { about: "2.2.3 a dollar inside is itself", agent: "a", body: "user-agent: a\ndisallow: /a$b\ndisallow: /c$$", expect: &[
        ("/a$b", false), ("/a$bc", false), ("/a", true), ("/c$", false), ("/c", true), ("/c$d", true),
    ] },
    Table { about: "2.2.3 a star first", agent: "a", body: "user-agent: a\ndisallow: *.gif$", expect: &[("/a.gif", false), ("/x/y.gif", false), ("/a.gif?x", true)] },
    Table { about: "2.2.3 a star only", agent: "a", body: "user-agent: a\ndisallow: *", expect: &[("/", false), ("/x", false), ("/robots.txt", true)] },
    Table { about: "2.2.3 many stars", agent: "a", body: "user-agent: a\ndisallow: /a***b", expect: &[("/ab", false), ("/axxb", false), ("/ax", true)] },
    Table { about: "2.2.3 star and end at the end", agent: "a", body: "user-agent: a\ndisallow: /a*$", expect: &[("/a", false), ("/abc", false), ("/b", true)] },
    Table { about: "2.2.3 queries", agent: "a", body: "user-agent: a\ndisallow: /*?\nallow: /*?$\nallow: /*?ok=", expect: &[
        ("/x?y", false), ("/x?", true), ("/x", true), ("/x?ok=1", true), ("/x?y&ok=1", false),
    ] },
    Table { about: "2.2.3 several folders deep", agent: "a", body: "user-agent: a\ndisallow: /*/private/*/x", expect: &[
        ("/a/private/b/x", false), ("/a/b/private/c/d/x1", false), ("/private/b/x", true), ("/a/private/x", true),
    ] },
    Table { about: "2.2.2 the longer wins, allow", agent: "a", body: "user-agent: a\nallow: /p/open\ndisallow: /p", expect: &[("/p", false), ("/p/open", true), ("/p/open/x", true), ("/p/ope", false)] },
    Table { about: "2.2.2 the longer wins, disallow", agent: "a", body: "user-agent: a\nallow: /folder\ndisallow: /folder/secret", expect: &[("/folder/x", true), ("/folder/secret", false)] },
    Table { about: "2.2.2 order does not matter", agent: "a", body: "user-agent: a\ndisallow: /p\nallow: /p/open", expect: &[("/p/open", true), ("/p/x", false)] },
    Table { about: "2.2.2 ties go to allow", agent: "a", body: "user-agent: a\ndisallow: /folder\nallow: /folder", expect: &[("/folder/page", true)] },
    Table { about: "2.2.2 ties between different patterns", agent: "a", body: "user-agent: a\ndisallow: /*.htm\nallow: /page*", expect: &[("/page.htm", true), ("/pag.htm", false)] },
    Table { about: "2.2.2 stars count as octets", agent: "a", body: "user-agent: a\nallow: /page\ndisallow: /*.htm", expect: &[("/page.htm", false), ("/page", true)] },
    Table { about: "2.2.2 the end counts as an octet", agent: "a", body: "user-agent: a\nallow: /$\ndisallow: /", expect: &[("/", true), ("/page.htm", false)] },
    Table { about: "2.2.2 only matching rules compete", agent: "a", body: "user-agent: a\nallow: /x/very/long/rule\ndisallow: /x", expect: &[("/x/other", false)] },
    Table { about: "2.2.2 everything but one file", agent: "a", body: "user-agent: a\ndisallow: /\nallow: /index.html$", expect: &[("/index.html", true), ("/index.html?x", false), ("/", false)] },
    Table { about: "2.2.2 the file itself", agent: "a", body: "user-agent: a\ndisallow: /\ndisallow: /robots.txt", expect: &[("/robots.txt", true), ("/robots.txt.bak", false), ("/robots", false), ("/x/robots.txt", false)] },
    Table { about: "5.2 the most specific of two", agent: "foobot", body: "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/not.gif", expect: &[
        ("/example/page/", true), ("/example/page/not.gif", false), ("/example/page/yes.gif", true), ("/example/", true),
    ] },
    Table { about: "2.2.2 encoded unreserved in the rule", agent: "a", body: "user-agent: a\ndisallow: /%62%61%7A", expect: &[("/baz", false), ("/%62%61%7a", false), ("/ba", true)] },
    Table { about: "2.2.2 encoded unreserved in the path", agent: "a", body: "user-agent: a\ndisallow: /a-b_c.d~e", expect: &[("/a%2Db%5Fc%2Ed%7Ee", false)] },
    Table { about: "2.2.2 raw non-ASCII in the rule", agent: "a", body: "user-agent: a\ndisallow: /foo/bar/\u{30c4}", expect: &[("/foo/bar/%E3%83%84", false), ("/foo/bar/%e3%83%84x", false), ("/foo/bar/\u{30c4}", false), ("/foo/bar/", true)] },
    Table { about: "2.2.2 encoded non-ASCII in the rule", agent: "a", body: "user-agent: a\ndisallow: /foo/bar/%e3%83%84", expect: &[("/foo/bar/%E3%83%84", false), ("/foo/bar/\u{30c4}", false)] },
    Table { about: "2.2.2 a reserved character and its encoding differ", agent: "a", body: "user-agent: a\ndisallow: /a%2Fb\ndisallow: /c,d", expect: &[
        ("/a/b", true), ("/a%2fb", false), ("/c%2Cd", true), ("/c,d", false),
    ] },
    Table { about: "2.2.2 queries with addresses", agent: "a", body: "user-agent: a\ndisallow: /foo/bar?baz=https://foo.bar", expect: &[("/foo/bar?baz=https://foo.bar", false), ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", true)] },
    Table { about: "2.2.2 an encoded slash is no separator", agent: "a", body: "user-agent: a\ndisallow: /*/x", expect: &[("/a%2Fx", true), ("/a/x", false)] },
    Table { about: "2.2.3 encoded specials are literals", agent: "a", body: "user-agent: a\ndisallow: /path/file-with-a-%2A.html\ndisallow: /path/foo-%24", expect: &[
        ("/path/file-with-a-*.html", false), ("/path/file-with-a-%2A.html", false), ("/path/file-with-a-b.html", true), ("/path/foo-$", false), ("/path/foo-", true),
    ] },
    Table { about: "2.2.3 an encoded percent stays", agent: "a", body: "user-agent: a\ndisallow: /%2561", expect: &[("/%2561", false), ("/a", true), ("/%61", true)] },
    Table { about: "broken encodings are octets", agent: "a", body: "user-agent: a\ndisallow: /100%\ndisallow: /%zz", expect: &[("/100%", false), ("/100%x", false), ("/%zz", false), ("/%ZZ", true)] },
    Table { about: "2.2.2 a rule may cut an encoding", agent: "a", body: "user-agent: a\ndisallow: /%E3%83", expect: &[("/%E3%83%84", false), ("/%E3", true)] },
    Table { about: "fragments are never compared", agent: "a", body: "user-agent: a\ndisallow: /x$", expect: &[("/x#y", false), ("/#x", true)] },
    Table { about: "slashes are not merged", agent: "a", body: "user-agent: a\ndisallow: //x", expect: &[("//x", false), ("/x", true)] },
    Table { about: "a query right after the host", agent: "a", body: "user-agent: a\ndisallow: /?q", expect: &[("?q", false), ("/?q=1", false), ("/", true)] },
];
