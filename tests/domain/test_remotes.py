"""Every spelling of an address is one identity, and nothing of who logs in is left in it."""

from __future__ import annotations

import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.language.git_remotes import normalise_remote

ROCKET = "github.com/Acme/Rocket"


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Acme/Rocket",
        "https://github.com/Acme/Rocket.git",
        "https://github.com/Acme/Rocket.git/",
        "https://github.com//Acme/./Rocket/.git",
        "HTTPS://GitHub.com:443/Acme/Rocket",
        "http://github.com:0080/Acme/Rocket",
        "https://github.com./Acme/Rocket",
        "https://token@github.com/Acme/Rocket",
        "https://user:token@github.com/Acme/Rocket",
        "https://user:t%40k%2Fn@github.com/Acme/Rocket",
        "https://user:a@b@github.com/Acme/Rocket",
        "https://user:to/ken@github.com/Acme/Rocket",
        "https://user%3Atoken%40github.com/Acme/Rocket",
        "https://github.com/Acme/%52ocket",
        "https://github.com/Acme/Rocket?private_token=x#y",
        "git://github.com/Acme/Rocket.git",
        "git://github.com:9418/Acme/Rocket",
        "ssh://github.com/Acme/Rocket",
        "ssh://git@GitHub.com:22/Acme/Rocket.git/",
        "git+ssh://git@github.com/Acme/Rocket.git",
        "ssh://git@ssh.github.com:443/Acme/Rocket.git",
        "git@github.com:Acme/Rocket.git",
        "git@github.com:/Acme/Rocket.git",
        "github.com:Acme/Rocket",
        "[git@github.com]:Acme/Rocket",
        "[git@github.com:22]:Acme/Rocket",
        "user:token@github.com:Acme/Rocket",
        "me@corp.example:token@github.com/Acme/Rocket",
        "token@github.com/Acme/Rocket",
        "  https://github.com/Acme/Rocket\n",
        "https://git\x00hub.com/Acme/Rocket",
        ROCKET,
    ],
)
def test_spellings_of_one_address_are_one_identity(url: str) -> None:
    assert normalise_remote(url) == ROCKET


@pytest.mark.parametrize(
    ("url", "id"),
    [
        ("ssh://git@host.example:2222/a/b", "host.example:2222/a/b"),
        ("[git@host.example:2222]:a/b", "host.example:2222/a/b"),
        ("http://host.example:443/a", "host.example:443/a"),
        ("git@gitlab.com:12345/app", "gitlab.com/12345/app"),
        ("https://github.com/acme/rocket", "github.com/acme/rocket"),
        ("ssh://git@[2001:DB8::1]/a", "[2001:db8::1]/a"),
        ("ssh://git@[2001:db8::1]:2222/a", "[2001:db8::1]:2222/a"),
        ("git@[2001:db8::1]:a.git", "[2001:db8::1]/a"),
        ("ssh://host/~me/app.git", "host/~me/app"),
        ("host:~me/app", "host/~me/app"),
        ("https://host/a%20b", "host/a b"),
        ("https://host/a%2fb", "host/a%2Fb"),
        ("https://host/%c3%a9", "host/é"),
        ("https://host/%ff", "host/%FF"),
        ("https://host/a/../../b", "host/b"),
        ("https://host", "host"),
        ("https://host:word/a", "host/a"),
        ("codecommit::https://git.example/a", "git.example/a"),
        ("C:\\repos\\app.git", "C:/repos/app"),
        ("c:/repos/app", "C:/repos/app"),
        ("file:///C:/repos/app", "C:/repos/app"),
        ("\\\\server\\share\\app", "//server/share/app"),
        ("file://server/share/app", "//server/share/app"),
        ("/srv/git/app.git/", "/srv/git/app"),
        ("file:///srv/git/app.git", "/srv/git/app"),
        ("file://localhost/srv/my%20app", "/srv/my app"),
        ("../app.git", "../app"),
        ("/srv/../../app", "/app"),
        ("https:///a/b", ""),
        ("ext::ssh -i key host %S a", ""),
        ("", ""),
    ],
)
def test_an_address_says_host_and_path(url: str, id: str) -> None:
    assert normalise_remote(url) == id


words = st.text(string.ascii_letters + string.digits + "-_~", min_size=1, max_size=8)
hosts = st.lists(st.text(string.ascii_lowercase + string.digits, min_size=2, max_size=8), min_size=2, max_size=3)
paths = st.lists(words, min_size=1, max_size=4)


@given(st.text(max_size=60))
def test_an_identity_is_its_own_identity(text: str) -> None:
    once = normalise_remote(text)
    assert normalise_remote(once) == once


@given(st.lists(st.sampled_from(["https://", "::", "@", ":", "/", "%", "25", "40", ".git", "[", "]", "\\", "a", "22"])))
def test_an_identity_of_odd_pieces_is_its_own_identity(pieces: list[str]) -> None:
    once = normalise_remote("".join(pieces))
    assert normalise_remote(once) == once


@given(hosts, paths, st.sampled_from(["", "2222"]))
def test_every_spelling_gives_one_identity(host: list[str], path: list[str], port: str) -> None:
    at, where, colon = ".".join(host), "/".join(path), f":{port}" if port else ""
    id = f"{at}{colon}/{where}"
    spellings = [
        f"ssh://git@{at}{colon}/{where}.git",
        f"ssh://{at.upper()}{colon}/{where}/",
        f"https://me:word@{at}{colon}/{quote(where)}",
        f"git://{at}{colon}//{where}.git/",
        *([] if port else [f"git@{at}:{where}.git", f"me@{at}:/{where}", f"https://{at}:443/{where}"]),
    ]
    assert {normalise_remote(url) for url in spellings} == {id}


SECRET = "Zq9Zq9"  # in capitals, which no host has, and in no path below
signs = st.text("ab1@:?#%!$&'()*+,;=.~_- ", max_size=5)


@given(signs, signs, signs, hosts, paths)
def test_nothing_of_a_login_is_left(user: str, left: str, right: str, host: list[str], path: list[str]) -> None:
    word = f"{left}{SECRET}{right}"
    at, where = ".".join(host), "/".join(path)
    for url in (
        f"https://{user}:{word}@{at}/{where}",
        f"https://{word}@{at}/{where}",
        f"https://{quote(user, safe='')}:{quote(word, safe='')}@{at}/{where}",
        f"ssh://{word}:{user}@{at}:2222/{where}",
        f"https://u:x/{word}@{at}/{where}",
        f"u:{word}@{at}:{where}",
    ):
        assert SECRET.lower() not in normalise_remote(url).lower(), url
