package main

import (
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/boxinit/wire"
)

// The loader is the script of a bash that was started before its real script is known, or
// whose script is too long for an argument. It waits for the script on descriptor 19
// and runs it in the same shell, with everything that the start files set, as bash -c would.
//
// If the start files have set something that would make the loader visible (tracing, traps
// that fire at each command, a disabled or replaced builtin, a readonly variable), it exits
// before it has read anything, and the script runs in an interpreter that is called with it.
//
// It is one line, since bash counts a script's lines from the line of the eval, and
// leaves no variable behind but BASH_EXECUTION_STRING, which bash -c sets too. A
// start file that cannot be read would make every bash complain in every output, as
// it does in bash -c. A locale that is not installed is complained of once.
const (
	lookAtOptions = `
[[ $- != *[envxT]* && $SHELLOPTS != *posix* ]] || \builtin exit;`

	// This check needs a subshell, which takes longer than all the rest.
	lookAtBuiltins = `
[[ -z $(\builtin trap -p DEBUG ERR RETURN; \builtin enable -n; \builtin declare -F builtin; \builtin declare -F eval; \builtin declare -F exec; { IFS= TMOUT= LC_ALL=C SECONDS=0 _bl= _bn= BASH_EXECUTION_STRING=; } 2>&1) ]] || \builtin exit;`

	takeScript = `
_bl=${LC_ALL-unset};
LC_ALL=C;
TMOUT= IFS= \builtin read -r -N 16 -u 19 BASH_EXECUTION_STRING || \builtin exit;
_bn=$((10#$BASH_EXECUTION_STRING));
BASH_EXECUTION_STRING=;
((_bn == 0)) || TMOUT= IFS= \builtin read -r -N "$_bn" -u 19 BASH_EXECUTION_STRING || \builtin exit;
{ if [[ $_bl == unset ]]; then \builtin unset -v LC_ALL; else LC_ALL=$_bl; fi; } 2>&-;
exec 19<&-;
\builtin unset -v _bl _bn;
SECONDS=0;
\builtin eval "$BASH_EXECUTION_STRING"`
)

// loading returns the order o changed so that the interpreter reads its script from the pipe.
func loading(o wire.Order) wire.Order {
	loader := lookAtOptions
	if !plain(o) {
		loader += lookAtBuiltins
	}
	loader += takeScript
	o.Args = append(slices.Clone(o.Args), strings.TrimPrefix(strings.ReplaceAll(loader, "\n", " "), " "))
	return o
}

// plain reports whether a bash that is called like this reads no start file and takes
// nothing from its environment that would change its builtins.
func plain(o wire.Order) bool {
	return len(o.Args) == 2 && o.Args[1] == "-c" && !slices.ContainsFunc(o.Env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "BASH_ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT", "SSH_CLIENT", "SSH2_CLIENT":
			return true
		}
		return strings.HasPrefix(name, "BASH_FUNC_")
	})
}

// loaded returns the script as the loader reads it. NUL bytes are left out, as
// every shell must.
func loaded(script string) []byte {
	script = strings.ReplaceAll(script, "\x00", "")
	size := strconv.Itoa(len(script))
	b := make([]byte, 0, 16+len(script))
	b = append(b, "0000000000000000"[len(size):]...)
	b = append(b, size...)
	return append(b, script...)
}
