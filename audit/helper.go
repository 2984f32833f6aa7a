package audit

import (
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// outside matches paths and addresses of process 1, of engines, and of the host.
var outside = lazy.Regexp(`/proc/1(?:/|\b)|/dev/batch(?:-parts)?(?:/|\b)|@batch-init|(?:/var)?/run/(?:docker|podman/podman|containerd/containerd|crio/crio)\.sock|/var/lib/(?:docker|containerd|kubelet)\b|` +
	`/var/run/secrets/kubernetes\.io|\b169\.254\.169\.254\b|metadata\.google\.internal`)

// engines matches programs that talk to an engine or leave a container, and what acts on process 1.
var engines = lazy.Regexp(`^(?:(?:docker|podman|kubectl|crictl|ctr|nerdctl|nsenter|runc) (?:.* )?\w|(?:kill|strace|gdb|prlimit|nsenter|ptrace|renice|taskset|lsof) (?:.* )?1$)`)

// findHelper finds commands that touch process 1, or reach for the engine or the host.
func findHelper(_ *task, h *hits) {
	h.each(helperIn, func(p code) []int { return outside().FindStringIndex(p.text) }) // both ends are in one line
}

// helperIn returns the word of a command that reaches out of the container.
func helperIn(c command) string {
	words := paths(c)
	for _, redir := range c.redirects {
		words = append(words, redir.target)
	}
	if part := outside().FindString(strings.Join(words, "\n")); part != "" {
		return part
	}
	return engines().FindString(strings.Join(append([]string{c.name()}, c.args()...), " "))
}

// paths returns the arguments of a command that may be paths: no text that it prints, and no pattern
// that it searches for.
func paths(c command) []string {
	args := c.args()
	switch c.name() {
	case "echo", "printf":
		return nil
	case "grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk":
		plain := operands(args)
		return plain[min(1, len(plain)):]
	case "find":
		return foundBy(args)
	}
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return len(a) > 300 || strings.ContainsAny(a, " \n") })
}
