package docker

import (
	"context"
	"fmt"
	"time"
)

// killLimit bounds the killing of a command's process tree.
const killLimit = 10 * time.Second

// kill ends every process of the command that s runs, or ran, since the given
// time, and the shell itself, also when ctx is cancelled. What cannot be killed
// makes the container start again: its files stay, all its processes go.
func (c *Container) kill(ctx context.Context, s *shell, since time.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killLimit)
	defer cancel()
	ticks := s.ticks + int(since.Sub(s.at)/(10*time.Millisecond)) - 1
	out, _, err := c.output(ctx, "bash", "-p", "-c", killer, "bash", fmt.Sprint(s.pid), fmt.Sprint(ticks))
	if err == nil && out == "clean" {
		return nil
	}
	c.revive.Lock()
	defer c.revive.Unlock()
	return c.renew(ctx, "killing a command in")
}

// killer ends a command's process tree in the container with nothing but bash.
// To it belong the dispatcher and its descendants, what shares a process group
// or a session with one of them, and what began while the command ran and does
// not stem from a process older than the command, or from another exec: so the
// children that left the tree, the group, the session and the environment behind
// are found, and a server of an earlier command keeps its own. The dispatcher's
// child was forked before the command came, so what is older than it is older
// than the command. Where the command has killed the dispatcher, that child is the
// last of the dispatcher's session to begin before the command: each leads a group of
// its own, and those of earlier commands have ended. It stops what it finds, lest that
// make more while it looks, kills it, and looks again until a round finds none; then
// it prints "clean".
//
// Arguments: the dispatcher's process id, the command's beginning in clock ticks
// after the machine's start (Linux counts 100 to the second for programs).
const killer = `exec 2>/dev/null
boss=$1 since=$2
declare -A parent group session start mine groups sessions
look() {
	local dir stat
	parent=() group=() session=() start=()
	for dir in /proc/[1-9]*; do
		IFS= read -r stat <"$dir/stat" || continue
		IFS=' '
		set -- ${stat##*) }
		[[ $1 == [ZX] || ${dir#/proc/} == "$$" ]] && continue
		parent[${dir#/proc/}]=$2 group[${dir#/proc/}]=$3 session[${dir#/proc/}]=$4 start[${dir#/proc/}]=${20}
	done
}
older() {
	local began=${start[$1]}
	[[ $began ]] && ((began < since || child && (began < start0 || began == start0 && $1 < child)))
}
belongs() {
	local at=$1 up leader
	((at == boss || at == child)) && return
	[[ ${groups[${group[$1]}]} || ${sessions[${session[$1]}]} ]] && return
	while up=${parent[$at]:-1}; ((up > 1)); do
		((up == boss || up == child)) || [[ ${mine[$up]} ]] && return
		older "$up" && return 1
		at=$up
	done
	[[ $up == 1 ]] && ! older "$1" || return 1
	for leader in ${group[$1]} ${session[$1]}; do
		((leader != $1 && leader != boss)) && older "$leader" && return 1
	done
	return 0
}
look
child=0 start0=0
for pid in "${!parent[@]}"; do
	((parent[$pid] == boss)) && child=$pid start0=${start[$pid]}
done
[[ ${parent[$boss]} ]] || for pid in "${!parent[@]}"; do
	((session[$pid] == boss && group[$pid] == pid && start[$pid] < since && start[$pid] > start0)) && child=$pid start0=${start[$pid]}
done
found=1
while ((found && SECONDS < 6)); do
	found=0
	look
	for pid in "${!parent[@]}"; do
		((pid == 1)) && continue
		belongs "$pid" || continue
		mine[$pid]=1 found=1
		((group[$pid] > 1 && group[$pid] != ${group[$boss]:-$boss})) && groups[${group[$pid]}]=1
		((session[$pid] > 1 && session[$pid] != ${session[$boss]:-$boss})) && sessions[${session[$pid]}]=1
		kill -STOP "$pid"
	done
	((found)) && kill -KILL "${!mine[@]}"
done
((found)) || printf clean`
