package grading

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
	"batch.example/batch/vocab"
)

func TestTheNetworkOfTests(t *testing.T) {
	for _, c := range []struct{ asked, script, setup, want string }{
		{"", "python -m pip install -e .\npytest", "", "bridge"},
		{"", "pytest", "pip install x", "bridge"},
		{"", "pytest", "", "none"},
		{"none", "python -m pip install -e .", "", "none"},
		{"mine", "pytest", "", "mine"},
	} {
		if got := networkOf(c.asked, &family.Task{Script: c.script, Setup: c.setup}); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// listener is a box that can reach the given addresses.
type listener struct {
	settings, reached string
	asked             int
}

func (l *listener) Write(context.Context, string, fs.FileMode, []byte) error { return nil }

func (l *listener) Run(_ context.Context, c vocab.Command) (out vocab.Output, err error) {
	if c.Script == evaluate.Settings {
		return vocab.Output{Bytes: []byte(l.settings)}, nil
	}
	l.asked++
	for address := range strings.FieldsSeq(l.reached) {
		if host, port, _ := strings.Cut(address, ":"); strings.Contains(c.Script, "/dev/tcp/"+host+"/"+port) {
			out.Bytes = append(out.Bytes, address+"\n"...)
		}
	}
	return out, nil
}

func TestAnEngineIsAskedOnceWhetherAnIndexAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reach{known: map[string]reached{}}
		reaches := func(box *listener, script string, want bool, asked int) {
			t.Helper()
			got, err := r.any(t.Context(), box, "/testbed", script)
			if err != nil || got != want || box.asked != asked {
				t.Errorf("%q: reached %v, asked %d times, %v; want %v, %d", script, got, box.asked, err, want, asked)
			}
		}
		const pip = "pip install -e ."
		reaches(&listener{}, pip, false, 1)
		reaches(&listener{reached: "pypi.org:443"}, pip, false, 0)
		reaches(&listener{settings: "PIP_INDEX_URL=http://mirror:80/simple\n", reached: "mirror:80"}, pip, true, 1)
		reaches(&listener{}, "npm ci", false, 1)
		time.Sleep(2 * time.Minute)
		reaches(&listener{reached: "pypi.org:443"}, pip, true, 1)
		reaches(&listener{}, pip, true, 0)
		reaches(&listener{}, "export PIP_INDEX_URL=http://10.1.2.3:8080/simple\n"+pip, true, 0)
	})
}
