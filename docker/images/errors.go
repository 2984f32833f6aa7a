package images

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/distribution/reference"

	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/fault"
)

// pullWhy says what may be done about a pull that failed.
type pullWhy int

const (
	pullRefused pullWhy = iota // another try cannot help
	pullLimited                // the registry wants fewer pulls
	pullBroken                 // the registry or the network failed
)

// pullRule maps words in a registry's or the engine's message to blame: the
// engine hands most failures of a pull on as text only.
type pullRule struct {
	why   pullWhy
	kind  fault.Kind
	hint  string
	words []string
}

// The order matters: the first rule with a matching word wins.
var pullRules = []pullRule{
	{pullRefused, fault.Host, engine.NoSpaceHint, []string{"no space left on device", "disk quota exceeded"}},
	{
		pullRefused, fault.Instance, "the image is not built for this engine's platform",
		[]string{"no matching manifest", "no match for platform", "does not match the specified platform", "cannot be used on this platform"},
	},
	{
		pullLimited, fault.Transient, "the registry limits pulls: log in (docker login), lower the parallel pulls, or use a mirror",
		[]string{"toomanyrequests", "too many requests", "rate limit"},
	},
	{
		pullRefused, fault.Instance, "check the image name, or log in to its registry: docker login",
		[]string{
			"unauthorized", "authentication required", "pull access denied", "no basic auth credentials",
			"denied:", "daemon: denied", "registry: denied", "resource is denied", "forbidden", "incorrect username or password",
		},
	},
	{
		pullBroken, fault.Transient, "the registry or the network failed; trying again may help",
		[]string{
			"unexpected http status: 5", "500 internal", "502 bad", "503 service", "504 gateway", "timeout",
			"connection refused", "connection reset", "no such host", "tls handshake", "unexpected eof",
			"verification failed", "server misbehaving", "network is unreachable", "i/o timeout", "timed out",
			"no route to host", "name resolution", "broken pipe", ": eof", "goaway",
			"unexpected commit digest", "failed size validation", // of containerd's image store
		},
	},
	{
		pullRefused, fault.Instance, "check the image name",
		[]string{"manifest unknown", "not found", "name unknown", "invalid reference", "does not exist", "no such image"},
	},
}

// pullRuleFor finds the rule for the failed pull of ref; nil when no word of
// the message is known.
func pullRuleFor(err error, ref string) *pullRule {
	text := strings.ToLower(err.Error())
	if n, nameErr := normal(ref); nameErr == nil { // a name may contain any of the words
		name := regexp.MustCompile(`\b` + regexp.QuoteMeta(reference.Path(n)) + `\b`)
		text = name.ReplaceAllString(text, "")
	}
	for i, r := range pullRules {
		for _, w := range r.words {
			if strings.Contains(text, w) {
				return &pullRules[i]
			}
		}
	}
	return nil
}

// whyPull says what may be done about the failed pull of ref. What is a fault
// already has been judged by whoever made it.
func whyPull(err error, ref string) pullWhy {
	if fault.KindOf(err) != fault.Unknown || engine.IsLost(err) {
		return pullRefused
	}
	if r := pullRuleFor(err, ref); r != nil {
		return r.why
	}
	return pullRefused
}

// blamePull turns a pull that failed into a fault that names the image.
func blamePull(err error, ref string) error {
	op := "pulling image " + ref
	if errors.Is(err, context.Canceled) || fault.KindOf(err) != fault.Unknown || engine.IsLost(err) {
		return engine.Blame(err, fault.Transient, op)
	}
	if r := pullRuleFor(err, ref); r != nil {
		return fault.New(r.kind, op, engine.WithErrno(err)).WithHint("%s", r.hint)
	}
	return engine.Blame(err, fault.Transient, op)
}
