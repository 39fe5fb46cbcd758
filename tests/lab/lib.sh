# Shared by the lab's commands (sourced, never run).
#
# It knows where the cache is, how to get a missing tool, and how to reach a
# Debian suite other than the machine's own without changing the machine's apt.
# shellcheck shell=bash disable=SC2034

set -euo pipefail

lab_prog=${0##*/}
lab_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab_root=$(cd "$lab_dir/../.." && pwd)

# Kernels are big and never change once fetched: they live outside the tree, so
# that a clean checkout and every CI run can share them.
lab_cache=${SONDE_CACHE:-${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/sonde}
lab_kernels=$lab_cache/kernels

lab_note() { printf '%s: %s\n' "$lab_prog" "$*" >&2; }
lab_die() { lab_note "$*"; exit 2; }

# Prints the comment block at the top of the calling script as its help text.
lab_usage() {
	sed -n '3,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"
}

# lab_need COMMAND[=PACKAGE]...  Makes sure that the commands exist: installs
# their packages when we may (root on a Debian system), else says what is
# missing and ends. A COMMAND with a slash is a file that must exist.
lab_need() {
	local item cmd path missing=()
	for item; do
		cmd=${item%%=*}
		if [[ $cmd == */* ]]; then
			[[ -e $cmd ]] && continue
		else
			path=$(PATH=$PATH:/usr/sbin:/sbin type -P "$cmd" || true)
			[[ -n $path ]] && continue
		fi
		missing+=("${item#*=}")
	done
	[[ ${#missing[@]} -eq 0 ]] && return 0
	if [[ $EUID -ne 0 || ! -e /etc/debian_version ]] || ! type -P apt-get >/dev/null; then
		lab_die "missing packages, please install: ${missing[*]}"
	fi
	lab_note "installing ${missing[*]}"
	local log
	log=$(mktemp)
	if ! lab_apt_install "${missing[@]}" >"$log" 2>&1; then
		# A machine whose package lists are absent or stale needs them first.
		{ apt-get update && lab_apt_install "${missing[@]}"; } >"$log" 2>&1 || {
			tail -n 20 "$log" >&2
			rm -f "$log"
			lab_die "could not install ${missing[*]}"
		}
	fi
	rm -f "$log"
}

# Waits for a lock held by somebody else's apt rather than failing.
lab_apt_install() {
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		-o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Prints "OPTIONS|URI|SUITE|COMPONENTS" for every enabled binary source of this
# machine, from one-line (.list) and deb822 (.sources) files alike. Options are
# reduced to signed-by, the only one that matters when fetching amd64 packages.
lab_apt_sources() {
	local list parts
	eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
	local files=()
	[[ -f $list ]] && files+=("$list")
	local f
	for f in "$parts"/*.list; do [[ -f $f ]] && files+=("$f"); done
	if [[ ${#files[@]} -gt 0 ]]; then
		sed -nE 's/#.*//; s/^[[:space:]]*deb[[:space:]]+//p' "${files[@]}" | awk '
		{
			opts = ""
			if ($0 ~ /^\[/) {
				end = index($0, "]")
				opts = substr($0, 2, end - 2)
				$0 = substr($0, end + 1)
			}
			signed = ""
			n = split(opts, o, " ")
			for (i = 1; i <= n; i++)
				if (tolower(o[i]) ~ /^signed-by=\//)
					signed = o[i]
			comps = ""
			for (i = 3; i <= NF; i++)
				comps = comps (i > 3 ? " " : "") $i
			print signed "|" $1 "|" $2 "|" comps
		}'
	fi
	files=()
	for f in "$parts"/*.sources; do [[ -f $f ]] && files+=("$f"); done
	[[ ${#files[@]} -eq 0 ]] && return 0
	for f in "${files[@]}"; do
		# A stanza ends at an empty line; a comment line may stand anywhere in it;
		# a line starting with a blank continues the field before.
		{ cat "$f"; echo; } | awk '
		function flush(   i, j, nu, ns, u, s, signed) {
			if ((" " f["types"] " ") ~ / deb / && tolower(f["enabled"]) !~ /^ *(no|false|off|0) *$/) {
				signed = ""
				# The field may also hold a whole key: that has no one-line form.
				if (f["signed-by"] ~ /^ *\/[^ ]* *$/) {
					signed = f["signed-by"]
					gsub(/ /, "", signed)
					signed = "signed-by=" signed
				}
				nu = split(f["uris"], u, " ")
				ns = split(f["suites"], s, " ")
				gsub(/^ +| +$/, "", f["components"])
				for (i = 1; i <= nu; i++)
					for (j = 1; j <= ns; j++)
						print signed "|" u[i] "|" s[j] "|" f["components"]
			}
			delete f
			key = ""
		}
		/^#/ { next }
		/^[ \t]*$/ { flush(); next }
		/^[ \t]/ { gsub(/^[ \t]+/, ""); f[key] = f[key] " " $0; next }
		{
			colon = index($0, ":")
			key = tolower(substr($0, 1, colon - 1))
			value = substr($0, colon + 1)
			gsub(/^[ \t]+|[ \t]+$/, "", value)
			f[key] = value
		}'
	done
}

# lab_apt_lines SUITE [OPTION]  One-line sources for SUITE: the machine's own
# Debian sources with the suite changed. A source counts as Debian's when it
# offers "main" of a suite that Debian has; somebody else's repository that
# looks alike fails to update, which does no harm.
lab_apt_lines() {
	local want=$1 extra=${2:-} signed uri suite comps opts
	if [[ -n ${SONDE_DEBIAN_MIRROR:-} ]]; then
		echo "deb [arch=amd64 $extra] $SONDE_DEBIAN_MIRROR $want main"
		return 0
	fi
	lab_apt_sources | while IFS='|' read -r signed uri suite comps; do
		[[ " $comps " == *" main "* ]] || continue
		opts="arch=amd64 ${extra:-$signed}"
		case $suite in
		bookworm | trixie | forky | duke | sid | oldstable | stable | testing | unstable)
			echo "deb [$opts] $uri $want main" ;;
		*-security)
			# sid has no security suite.
			[[ $want == sid ]] || echo "deb [$opts] $uri $want-security main" ;;
		esac
	done | sort -u
}

# lab_apt_setup SUITE  Readies a private apt for SUITE under the cache: own
# sources, lists and archives, nothing of the machine's state but its proxy and
# credentials. Sets lab_apt_opts for lab_apt. Package lists are refreshed when
# older than a day. Returns 1, having said why, when the suite is out of reach.
lab_apt_setup() {
	local suite=$1
	local dir=$lab_cache/apt/$suite
	lab_apt_opts=("-c=$dir/apt.conf")
	if [[ -e $dir/stamp && -n $(find "$dir/stamp" -mmin -1440) ]]; then
		return 0
	fi
	mkdir -p "$dir/lists/partial" "$dir/archives/partial"
	: >"$dir/status"
	# #clear drops the machine's hooks: they would work on its caches, not ours.
	cat >"$dir/apt.conf" <<-CONF
	Dir::Etc::sourcelist "$dir/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	Dir::State::lists "$dir/lists";
	Dir::State::status "$dir/status";
	Dir::Cache "$dir";
	Dir::Cache::archives "$dir/archives";
	Dir::Cache::pkgcache "";
	Dir::Cache::srcpkgcache "";
	APT::Architecture "amd64";
	APT::Architectures { "amd64"; };
	APT::Sandbox::User "$(id -un)";
	APT::Get::List-Cleanup "true";
	Acquire::Languages "none";
	Acquire::Retries "2";
	Acquire::http::Timeout "30";
	Acquire::https::Timeout "30";
	Acquire::Check-Valid-Until "false";
	Debug::NoLocking "true";
	#clear APT::Update::Pre-Invoke;
	#clear APT::Update::Post-Invoke;
	#clear APT::Update::Post-Invoke-Success;
	CONF
	lab_apt_lines "$suite" >"$dir/sources.list"
	if [[ ! -s $dir/sources.list ]]; then
		lab_note "$suite: this machine has no apt source of Debian's (SONDE_DEBIAN_MIRROR can name one)"
		return 1
	fi
	lab_note "$suite: updating package lists"
	# The exit status says nothing useful (one bad source of several may fail):
	# what counts is whether packages are there.
	apt-get "${lab_apt_opts[@]}" update >"$dir/update.log" 2>&1 || true
	if ! lab_apt_has linux-libc-dev; then
		# A keyring older than the suite cannot verify it. These packages are
		# only booted in an emulator, so go on, but say so.
		lab_apt_lines "$suite" trusted=yes >"$dir/sources.list"
		apt-get "${lab_apt_opts[@]}" --allow-insecure-repositories update \
			>>"$dir/update.log" 2>&1 || true
		if ! lab_apt_has linux-libc-dev; then
			lab_note "$suite: cannot be reached: $(grep -m 1 -E '^(Err|E:)|Could not|Failed' "$dir/update.log" || true)"
			return 1
		fi
		lab_note "$suite: this machine's keyring cannot verify it; its packages are used unverified"
	fi
	touch "$dir/stamp"
}

lab_apt_has() { apt-cache "${lab_apt_opts[@]}" show "$1" >/dev/null 2>&1; }

# lab_apt_download DIR PACKAGE  Downloads the newest version of PACKAGE (of the
# suite last set up) into DIR; prints the file's path.
lab_apt_download() {
	local dir=$1 package=$2 log=$1/download.log
	# Lists up to a day old may name a version that the mirror has replaced.
	if ! (cd "$dir" && apt-get "${lab_apt_opts[@]}" download "$package" >"$log" 2>&1) &&
		! (apt-get "${lab_apt_opts[@]}" update && cd "$dir" &&
			apt-get "${lab_apt_opts[@]}" download "$package") >"$log" 2>&1; then
		lab_note "cannot download $package: $(grep '^E:' "$log" | tail -n 1 || true)"
		return 1
	fi
	local debs=("$dir/${package}"_*.deb)
	[[ -f ${debs[0]} ]] || return 1
	printf '%s\n' "${debs[0]}"
}

# lab_unpack_kernel FILE  Prints the ELF file inside a bzImage. The header says where
# it is and how long; the last four bytes are its unpacked size.
lab_unpack_kernel() {
	local image=$1 sectors offset size
	sectors=$(od -An -tu1 -j $((0x1f1)) -N 1 "$image")
	offset=$(od -An -tu4 -j $((0x248)) -N 4 "$image")
	size=$(od -An -tu4 -j $((0x24c)) -N 4 "$image")
	# payload [BYTES]
	payload() {
		dd if="$image" bs=1M iflag=skip_bytes,count_bytes skip=$(((sectors + 1) * 512 + offset)) count="${1:-$((size - 4))}" status=none
	}
	case $(payload 4 | od -An -tx1 | tr -d ' ') in
	1f8b*) payload | gzip -dc ;;
	28b52ffd) payload | zstd -qdc ;;
	02214c18) payload | lz4 -dcq - ;;
	fd377a58) payload | xz -dc ;;
	*)
		lab_note "$image: packed in a way that is not known here"
		return 1 ;;
	esac
}

# lab_btf KERNEL  Prints the path of the BTF of a kernel of the cache; takes it out of
# the kernel the first time, which is a second's work while a boot takes ten.
lab_btf() {
	local dir=$lab_kernels/$1
	if [[ ! -s $dir/vmlinuz ]]; then
		lab_note "$1: is not in the cache (fetch-kernels)"
		return 1
	fi
	if [[ ! -s $dir/btf || $dir/vmlinuz -nt $dir/btf ]]; then
		lab_need objcopy=binutils zstd lz4 xz=xz-utils
		lab_unpack_kernel "$dir/vmlinuz" >"$dir/vmlinux.$$" &&
			objcopy -O binary --only-section=.BTF "$dir/vmlinux.$$" "$dir/btf.$$" 2>/dev/null &&
			[[ -s $dir/btf.$$ ]] && mv "$dir/btf.$$" "$dir/btf" || {
			rm -f "$dir/vmlinux.$$" "$dir/btf.$$"
			lab_note "$1: has no BTF, or it cannot be taken out of the kernel"
			return 1
		}
		rm -f "$dir/vmlinux.$$"
	fi
	printf '%s\n' "$dir/btf"
}

# lab_lock NAME  Serialises commands that fill the same part of the cache.
lab_lock() {
	mkdir -p "$lab_cache"
	exec {lab_lock_fd}>"$lab_cache/.$1.lock"
	if ! flock -n "$lab_lock_fd"; then
		lab_note "waiting for another run that is filling the cache ($1)"
		flock "$lab_lock_fd"
	fi
}

# A temporary folder that is gone when the command ends, however it ends.
lab_tmpdir() {
	lab_tmp=$(mktemp -d "${TMPDIR:-/tmp}/sonde-lab.XXXXXX")
	chmod 755 "$lab_tmp" # tests without privileges run programs from it
	trap 'rm -rf "$lab_tmp"' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

# lab_etc DIR  Writes the account files that programs in a guest expect. The
# users below root are for tests of uid, username and the like.
lab_etc() {
	mkdir -p "$1/etc"
	cat >"$1/etc/passwd" <<-'PASSWD'
	root:x:0:0:root:/root:/bin/sh
	daemon:x:1:1:daemon:/:/bin/false
	alice:x:1000:1000:Alice:/tmp:/bin/sh
	bob:x:1001:1001:Bob:/tmp:/bin/sh
	nobody:x:65534:65534:nobody:/:/bin/false
	PASSWD
	cat >"$1/etc/group" <<-'GROUP'
	root:x:0:
	daemon:x:1:
	alice:x:1000:
	bob:x:1001:
	staff:x:50:alice,bob
	nogroup:x:65534:
	GROUP
	printf 'passwd: files\ngroup: files\nhosts: files\n' >"$1/etc/nsswitch.conf"
	printf '127.0.0.1 localhost\n::1 localhost\n' >"$1/etc/hosts"
}
