package images

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
)

// pullFailure is why a pull failed, as far as it decides on another try.
type pullFailure int

const (
	pullRefused pullFailure = iota // another try cannot help
	pullLimited                    // the registry wants fewer pulls
	pullBroken                     // the registry or the network failed
)

// pullRule maps words in a message of the registry or the engine to blame: the
// engine reports most failures of a pull only as text.
type pullRule struct {
	why   pullFailure
	kind  fault.Kind
	hint  string
	words []string
}

const platformHint = "the image is not built for this engine's platform"

// The order matters: the first rule with a matching word wins.
var pullRules = []pullRule{
	{pullRefused, fault.Host, daemon.NoSpaceHint, []string{"no space left on device", "disk quota exceeded"}},
	{
		pullRefused, fault.Instance, platformHint,
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
		pullBroken, fault.Transient, "the registry or the network failed; run the same command again to retry",
		[]string{
			"unexpected http status: 5", "500 internal", "502 bad", "503 service", "504 gateway", "timeout",
			"connection refused", "connection reset", "no such host", "tls handshake", "unexpected eof",
			"verification failed", "server misbehaving", "network is unreachable", "i/o timeout", "timed out",
			"no route to host", "name resolution", "broken pipe", ": eof", "goaway",
			"unexpected commit digest", "failed size validation", // texts of containerd's image store
		},
	},
	{
		pullRefused, fault.Instance, "check the image name",
		[]string{"manifest unknown", "not found", "name unknown", "invalid reference", "does not exist", "no such image"},
	},
}

// pullRuleFor finds the rule for the failed pull of ref; nil when no rule
// matches the message.
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

// pullFailureOf returns why the pull of ref failed. An error that is a fault already was
// classified where it was created.
func pullFailureOf(err error, ref string) pullFailure {
	if fault.KindOf(err) != fault.Unknown || daemon.IsLost(err) {
		return pullRefused
	}
	if r := pullRuleFor(err, ref); r != nil {
		return r.why
	}
	return pullRefused
}

// notPulled is how the text of blamePull ends.
const notPulled = "is not on this engine and could not be pulled"

// blamePull turns the failed pull of an image that is not on the engine into a fault that
// names the image.
func blamePull(err error, ref string) error {
	short, nameErr := familiar(ref)
	if nameErr != nil {
		short = ref
	}
	op := "image " + strings.TrimSuffix(short, ":latest") + " " + notPulled
	if errors.Is(err, context.Canceled) || fault.KindOf(err) != fault.Unknown || daemon.IsLost(err) {
		return daemon.Blame(err, fault.Transient, op)
	}
	r, local := pullRuleFor(err, ref), localHint(short)
	if r == nil {
		blamed := daemon.Blame(err, fault.Transient, op)
		if local != "" && fault.HintOf(blamed) == "" { // most likely no registry has it, whatever the error
			return fault.New(fault.KindOf(blamed), "", blamed).WithHint("%s", local)
		}
		return blamed
	}
	hint := r.hint
	if local != "" && r.why != pullLimited && hint != daemon.NoSpaceHint && hint != platformHint {
		hint = local
	}
	return fault.New(r.kind, op, daemon.WithErrno(err)).WithHint("%s", hint)
}

// withoutText returns err without the text of blamePull, if it has that.
func withoutText(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	for ; ok; e, ok = errors.AsType[*fault.Error](e.Err) {
		if strings.HasSuffix(e.Op, notPulled) {
			return e.Err
		}
	}
	return err
}

// official are images of Docker Hub that have no owner in their name and that a dataset may use.
var official = strings.Fields("alpine amazonlinux archlinux bash buildpack-deps busybox clojure composer debian eclipse-temurin elixir erlang " +
	"fedora gcc golang gradle haskell httpd hello-world julia maven mariadb mongo mysql nginx node openjdk oraclelinux perl php postgres pypy python " +
	"r-base rabbitmq redis rockylinux ruby rust swift ubuntu")

// localHint says how to get an image whose short name has no registry and no owner. If it
// is not one of the official images, it is most likely one that the user builds.
func localHint(short string) string {
	n, err := normal(short)
	if err != nil || strings.Contains(short, "@") { // an image with a digest was pushed to a registry before
		return ""
	}
	name := reference.FamiliarName(n)
	if strings.Contains(name, "/") || slices.Contains(official, name) {
		return ""
	}
	image := strings.TrimSuffix(short, ":latest")
	return "build it: `docker build -t " + image + " .`, or give its full name: this one has no registry and no owner"
}
