# Sourced by the commands of this repository: what the machine must have, and how it gets it.
# Checks first and installs only what is missing; nothing here asks a question.

say() { printf '==> %s\n' "$*" >&2; }

die() {
  printf 'error: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '       %s\n' "$line" >&2; done
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

may_install() { [ "$(id -u)" = 0 ] || { has sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; }; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

refresh_package_lists() {
  [ -n "${package_lists_are_fresh:-}" ] && return
  say "refreshing the package lists"
  # Mirrors are sometimes caught in the middle of an update; once more is usually enough.
  as_root apt-get update -q || { sleep 5; as_root apt-get update -q; } || return 1
  package_lists_are_fresh=1
}

# install_packages WHY PACKAGE...
install_packages() {
  why=$1
  shift
  has apt-get || die "$why is missing, and there is no apt-get here" "Install what Debian calls: $*"
  may_install || die "$why is missing, and installing it takes rights you do not have" "Run as root: apt-get install $*"
  say "installing $* ($why)"
  refresh_package_lists &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" ||
    die "$why is missing and could not be installed" "Run as root: apt-get install $*"
}

need_rust() {
  has cargo || PATH="${CARGO_HOME:-${HOME:-}/.cargo}/bin:$PATH"
  has cargo || die "Rust is missing" "Install it from https://rustup.rs, then run this again."
  export PATH
}

# SQLite and the TLS code are compiled from C.
need_c_compiler() {
  printf '#include <stdio.h>\nint main(void){return 0;}\n' | cc -x c -o /dev/null - 2>/dev/null ||
    install_packages "a C compiler" gcc libc6-dev
}

# Prints the directory that holds initdb and postgres, the newest version first.
postgres_bin() {
  for dir in $(printf '%s\n' /usr/lib/postgresql/*/bin /usr/local/pgsql/bin | sort -rV) $(pg_config --bindir 2>/dev/null); do
    [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] && printf '%s\n' "$dir" && return
  done
  return 1
}

need_postgres() {
  postgres_bin >/dev/null || install_packages "PostgreSQL" postgresql
  postgres_bin >/dev/null || die "PostgreSQL is installed, but initdb was not found below /usr/lib/postgresql"
}

# For the web page and its tests.
need_node() {
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' \
    2>/dev/null || die "Node 20.19 or newer is missing (found: $(node --version 2>/dev/null || echo none))" \
    "Install it from https://nodejs.org, or run ./test --quick, which does without."
  has npm || die "npm is missing" "It comes with Node: https://nodejs.org; ./test --quick does without."
}

# What ui/package-lock.json names; not again while it is the same.
need_page_packages() {
  cmp -s ui/package-lock.json ui/node_modules/.lock && return
  (cd ui && npm ci --silent --no-audit --no-fund && cp package-lock.json node_modules/.lock) ||
    die "the web page's packages could not be installed" "Run \`npm ci\` in ui/ to see why."
}

# For the tests that look at the page as people do.
need_browser() {
  [ -x "${CHROMIUM:-/usr/bin/chromium}" ] || install_packages "a browser" chromium
}

# For the model servers written by others that some tests run against.
need_peer_runtimes() {
  python3 -c 'import venv, ensurepip' 2>/dev/null || install_packages "Python with venv" python3 python3-venv python3-pip
  need_node
}
