package inject

import (
	"math"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
)

// maxReached is how many points the channel of [Plan.Reached] can hold.
const maxReached = 64

var pointName = lazy.Regexp(`^(\*|[a-z]+(\.[a-z]+)*)$`)

// Parse parses a spec. For an empty spec, it returns a nil Plan. Errors are Usage faults
// that name the rule.
func Parse(spec string) (*Plan, error) {
	if spec == "" {
		return nil, nil
	}
	p := &Plan{release: make(chan struct{}), reached: make(chan string, maxReached)}
	for text := range strings.SplitSeq(spec, ",") {
		r, err := parseRule(text)
		if err != nil {
			return nil, err
		}
		p.rules = append(p.rules, r)
	}
	return p, nil
}

func parseRule(text string) (*rule, error) {
	bad := func(what string) (*rule, error) {
		return nil, fault.Newf(fault.Usage, "inject rule %q: %s", text, what).
			WithHint("a rule is POINT:WHICH=WHAT, such as journal.append:17=kill, rename:*=ENOSPC or sync:3+=EIO")
	}
	point, rest, _ := strings.Cut(text, ":")
	which, what, found := strings.Cut(rest, "=")
	if !found {
		return bad("expected a colon and an equals sign")
	}
	if !pointName().MatchString(point) {
		return bad("POINT is not lower-case words joined by dots")
	}
	r := &rule{point: point, first: 1, last: math.MaxInt64}
	if which != "*" {
		number, open := strings.CutSuffix(which, "+")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 1 {
			return bad("WHICH is not a number from 1, a number from 1 with +, or *")
		}
		if r.first = n; !open {
			r.last = n
		}
	}
	switch what {
	case "kill":
		r.act = kill
	case "block":
		r.act = block
	default:
		if r.err = failure(what); r.err == nil {
			return bad("WHAT is not kill, block, the name of an errno or an HTTP error status")
		}
	}
	return r, nil
}

// failure returns the error that name stands for, or nil. An errno has the same name on
// every system, but not the same number.
func failure(name string) error {
	if status, err := strconv.Atoi(name); err == nil && 400 <= status && status < 600 {
		return Status(status)
	}
	for e := syscall.Errno(1); e < 256; e++ {
		if n := unix.ErrnoName(e); n != "" && n == name {
			return e
		}
	}
	return nil
}
