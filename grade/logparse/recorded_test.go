package logparse_test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/grade/logparse"
)

const sharedLogs = "../../../shared/data/logs"

func open(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedLogs, name))
	if err != nil {
		t.Skipf("the recorded logs are not in ../shared/data: %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// eachLine decodes a gzipped file of JSON lines.
func eachLine[T any](t testing.TB, name string, do func(T)) {
	t.Helper()
	z, err := gzip.NewReader(open(t, name))
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bufio.NewReader(z)); ; {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		do(v)
	}
}

// parseBetweenMarkers does the harness's slicing for logs with one pair of markers.
func parseBetweenMarkers(parser, log string, row logparse.Row) (logparse.Statuses, error) {
	_, inner, _ := strings.Cut(log, ">>>>> Start Test Output")
	inner, _, _ = strings.Cut(inner, ">>>>> Start Test Output")
	inner, _, _ = strings.Cut(inner, ">>>>> End Test Output")
	got, _, err := logparse.Parse(parser, inner, row, logparse.V5)
	if err == nil && len(got) == 0 {
		got, _, err = logparse.Parse(parser, log, row, logparse.V5)
	}
	return got, err
}

func compare(t *testing.T, want, got logparse.Statuses, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("statuses (-want +got):\n%s", d)
	}
}

func TestSyntheticLogs(t *testing.T) {
	type log struct {
		InstanceID string `json:"instance_id"`
		Repo       string
		Version    string
		Parser     string `json:"log_parser"`
		Mode       string
		Log        string
		Expected   struct {
			Found     bool
			StatusMap logparse.Statuses `json:"status_map"`
		}
	}
	eachLine(t, "synthetic.jsonl.gz", func(l log) {
		if !l.Expected.Found { // a rule of the verdict, not of the parser
			return
		}
		t.Run(l.Parser+"/"+l.InstanceID+"/"+l.Mode, func(t *testing.T) {
			got, err := parseBetweenMarkers(l.Parser, l.Log, logparse.Row{InstanceID: l.InstanceID, Repo: l.Repo, Version: l.Version})
			compare(t, l.Expected.StatusMap, got, err)
		})
	})
}

func TestRealLogs(t *testing.T) {
	type log struct {
		Log        string
		InstanceID string            `json:"instance_id"`
		Parser     string            `json:"log_parser"`
		StatusMap  logparse.Statuses `json:"status_map_v5"`
	}
	text := untar(t, "verified-98.tar.gz", "test_output.txt")
	eachLine(t, "verified-98.expected.jsonl.gz", func(l log) {
		t.Run(l.Parser+"/"+l.InstanceID, func(t *testing.T) {
			got, err := parseBetweenMarkers(l.Parser, text[l.Log], logparse.Row{InstanceID: l.InstanceID})
			compare(t, l.StatusMap, got, err)
		})
	})
}

// untar reads the files of that base name, with line ends as the harness reads them.
func untar(t testing.TB, name, base string) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(open(t, name))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(h.Name) == base {
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			files[h.Name] = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(b))
		}
	}
}

func TestUnitCasesOfTheReference(t *testing.T) {
	var cases []struct {
		Test, Parser, Alias string
		Input, Expected     json.RawMessage
	}
	if err := json.NewDecoder(open(t, "unit_cases.json")).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Parser == "" { // a case of grading
			continue
		}
		t.Run(c.Parser+"/"+c.Test, func(t *testing.T) {
			var log string
			var want logparse.Statuses
			if err := errors.Join(json.Unmarshal(c.Input, &log), json.Unmarshal(c.Expected, &want)); err != nil {
				t.Fatal(err)
			}
			got, _, err := logparse.Parse(c.Parser, log, logparse.Row{}, logparse.V5)
			compare(t, want, got, err)
		})
	}
}
