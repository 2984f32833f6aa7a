package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/llm/cassette"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/run"
)

// recordFlags say whether the exchanges with a model's provider are recorded, or come from
// a recording.
type recordFlags struct {
	record  bool
	replay  string // a run directory
	changed bool
}

func (f *recordFlags) addRecord(flags *pflag.FlagSet) {
	flags.BoolVar(&f.record, "record", false, "record what is sent to the model's provider and what it answers, without keys, in\n<output>/<id>/"+cassette.FileName)
	flags.StringVar(&f.replay, "replay", "", "answer the model calls from the recording in the run directory `DIR`, without a network or a key")
	flags.BoolVar(&f.changed, "replay-changed", false, "with --replay: give the recorded answers in order although a request differs from the recorded\none, as with commands that print times")
	inSection(flags, "Model and configuration")
}

// checkRecord refuses flags that do not go together.
func (f *recordFlags) checkRecord() error {
	switch {
	case f.record && f.replay != "":
		return fault.Newf(fault.Usage, "--record and --replay cannot be used together")
	case f.changed && f.replay == "":
		return fault.Newf(fault.Usage, "--replay-changed needs --replay DIR")
	}
	if f.replay == "" {
		return nil
	}
	if found, _ := fs.Glob(os.DirFS(f.replay), "*/"+cassette.FileName); len(found) == 0 { // the name of the directory may look like a pattern
		return fault.Newf(fault.Usage, "--replay %s: there is no recording in it", f.replay).
			WithHint("a recording is made by `batch run --record`")
	}
	return nil
}

// checkAsked refuses the flags for a model that batch plays itself.
func (f *recordFlags) checkAsked(provider string) error {
	asked := !slices.ContainsFunc(catalogue.Providers(), func(p catalogue.Provider) bool { return p.Name == provider && !p.Paid })
	flag := "--record"
	switch {
	case asked || !f.record && f.replay == "":
		return nil
	case f.replay != "":
		flag = "--replay"
	}
	return fault.Newf(fault.Usage, "%s: batch plays %s itself, so there are no calls to a provider", flag, provider)
}

// access says how the run's models are asked.
func (s *invocation) access() run.Access {
	a := run.Access{Getenv: s.getenv, KeyFromTurn: s.turnKeys}
	switch {
	case s.flags.record:
		a.Limits = s.limits
		a.HTTP = &http.Client{Transport: &cassette.Recorder{
			Next: endpoint.Transport(), Path: recordings(s.flags.output), Mask: s.mask,
			Failed: s.tellNotRecorded(),
		}}
	case s.flags.replay != "":
		p := &cassette.Player{Path: recordings(s.flags.replay), Mask: s.mask}
		if s.flags.changed {
			p.Changed = func(instance, difference string) {
				s.tell(instance + ": the requests differ from the recorded ones from here on: " + difference)
			}
		}
		a.HTTP, a.Getenv = &http.Client{Transport: p}, withoutKey(s.getenv)
	default:
		a.Limits = s.limits
		return a
	}
	a.Within = cassette.With
	return a
}

// tellNotRecorded returns what names an instance whose recording misses something, once:
// a full disk would be reported at each call.
func (s *invocation) tellNotRecorded() func(instance string, err error) {
	var named sync.Map
	return func(instance string, err error) {
		if _, again := named.LoadOrStore(instance, true); !again {
			s.tell(fmt.Sprintf("%s: its recording is not complete, and cannot be replayed: %v", instance, err))
		}
	}
}

// recordings names the recordings of the instances in a run directory.
func recordings(dir string) func(instance string) string {
	return func(instance string) string { return filepath.Join(dir, instance, cassette.FileName) }
}

// withoutKey is getenv for a provider that is not asked: a key that is not set is a word
// that no server takes.
func withoutKey(getenv func(string) string) func(string) string {
	return func(name string) string {
		if value := getenv(name); value != "" || !strings.HasSuffix(name, "_API_KEY") {
			return value
		}
		return "none"
	}
}
