package run

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/llm/cassette"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/llm/endpoint"
)

// checkAsked refuses to record or replay a model that batch plays itself.
func checkAsked(r Request, provider string) error {
	asked := !slices.ContainsFunc(catalogue.Providers(), func(p catalogue.Provider) bool { return p.Name == provider && !p.Paid })
	flag := "--record"
	switch {
	case asked || !r.Record && r.Replay == "":
		return nil
	case r.Replay != "":
		flag = "--replay"
	}
	return fault.Newf(fault.Usage, "%s: batch plays %s itself, so there are no calls to a provider", flag, provider)
}

// access returns an Access to the network, or to a recording.
func (s *Setup) access() Access {
	a := Access{Getenv: s.Process.Getenv, Dir: from(s.Dir), KeyFromTurn: s.KeyFromTurn}
	switch {
	case s.Record:
		a.Limits = s.Limits
		a.HTTP = &http.Client{Transport: &cassette.Recorder{
			Next: endpoint.Transport(), Path: recordings(s.Output), Mask: s.Process.Mask,
			Failed: s.Process.tellNotRecorded(),
		}}
	case s.Replay != "":
		p := &cassette.Player{Path: recordings(s.Replay), Mask: s.Process.Mask}
		if s.ReplayChanged {
			p.Changed = func(instance, difference string) {
				s.Process.tell(instance + ": the requests differ from the recorded ones from here on: " + difference)
			}
		}
		a.HTTP, a.Getenv = &http.Client{Transport: p}, withoutKey(s.Process.Getenv)
	default:
		a.Limits = s.Limits
		return a
	}
	a.Within = cassette.With
	return a
}

// tellNotRecorded returns a function that reports an instance with an incomplete recording
// only once: otherwise a full disk would be reported at each call.
func (p Process) tellNotRecorded() func(instance string, err error) {
	var named sync.Map
	return func(instance string, err error) {
		if _, again := named.LoadOrStore(instance, true); !again {
			p.tell(fmt.Sprintf("%s: its recording is not complete, and cannot be replayed: %v", instance, err))
		}
	}
}

// recordings names the recordings of the instances in a run directory.
func recordings(dir string) func(instance string) string {
	return func(instance string) string { return filepath.Join(dir, instance, cassette.FileName) }
}

// withoutKey returns getenv with a placeholder for each missing key, for a provider that is
// never called.
func withoutKey(getenv func(string) string) func(string) string {
	return func(name string) string {
		if value := getenv(name); value != "" || !strings.HasSuffix(name, "_API_KEY") {
			return value
		}
		return "none"
	}
}
