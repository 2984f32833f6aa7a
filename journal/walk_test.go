package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"batch.example/batch/internal/tier"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// written returns a journal of two attempts.
func written(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j, err := journal.Open(path, journal.Tail{}, journal.Options{Durability: journal.Process, Spend: func(_, _ float64) {}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		err = errors.Join(err, j.Begin(n+1, map[string]any{"owner": "o"}))
		err = errors.Join(err, j.Append(journal.TypeRequest, journal.RequestData{Step: 1, Digest: "d", Reserved: 0.5}))
		err = errors.Join(err, j.Append(journal.TypeReply, journal.ReplyData{Step: 1, Cost: 0.25, Priced: true, Message: json.RawMessage(`{"content":"` + strings.Repeat("x", 100) + `"}`)}))
		err = errors.Join(err, j.Append(journal.TypeOutput, journal.OutputData{Step: 1, Action: 1, Output: vocab.Output{Total: 9, ExitCode: 3, Note: `a "note","output":"x`}, Kept: []byte("a\xffb")}))
	}
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWalkReadsEachRecordOfAnAttempt(t *testing.T) {
	text := written(t)
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := journal.NewIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int]int{0: 2, 1: 1, 2: 2} {
		a, err := x.Attempt(number)
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		err = a.Walk(1, len(a.Steps), func(r *journal.Record, at journal.Place) error {
			line := text[at:]
			line = line[:bytes.IndexByte(line, '\n')]
			head, ok := journal.Head(line)
			if !ok || head.Seq != r.Seq || head.Type != r.Type || head.SpentSoFar() != r.SpentSoFar() || !bytes.HasPrefix(head.Data, r.Data) {
				t.Errorf("the head of %s is %+v, %t", line, head, ok)
			}
			if r.Attempt != want {
				t.Errorf("a record of attempt %d, want %d", r.Attempt, want)
			}
			types = append(types, r.Type)
			return nil
		})
		if got := strings.Join(types, " "); err != nil || got != "attempt request reply output" {
			t.Errorf("attempt %d: %s, %v", number, got, err)
		}
	}
	if _, err := x.Attempt(3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("attempt 3: %v", err)
	}
}

func TestWalkReportsDamageAndGoesOn(t *testing.T) {
	text := written(t)
	text[bytes.IndexByte(text, '\n')+5] ^= 1
	whole, damaged := 0, 0
	err := journal.Walk(bytes.NewReader(text), 0, int64(len(text))-1, func(r *journal.Record, _ journal.Place) error {
		if r == nil {
			damaged++
		} else {
			whole++
		}
		return nil
	})
	if err != nil || whole != 6 || damaged != 2 { // the last line is torn
		t.Errorf("%d whole and %d damaged records, %v", whole, damaged, err)
	}
	stop := errors.New("stop")
	if err := journal.Walk(bytes.NewReader(text), 0, int64(len(text)), func(*journal.Record, journal.Place) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v, want the function's error", err)
	}
}

func TestAnOutputIsDecodedAsEncodingJSONDoes(t *testing.T) {
	for _, data := range []string{
		`{"step":1,"action":2,"total":3,"exit_code":0,"seconds":0.5,"sha256":"x","output":"aGk="}`,
		`{"step":1,"action":2,"note":"say \",\"output\":\"","output":"aGk="}`,
		`{"step":1,"action":2,"note":"n","output":""}`,
		`{"output":"aGk=","step":1}`,
		`{"step":1,"output":"aGk=","later":"x"}`,
		`{"step":1}`,
	} {
		r := journal.Record{Data: json.RawMessage(data)}
		var want journal.OutputData
		if err := json.Unmarshal(r.Data, &want); err != nil {
			t.Fatal(err)
		}
		got, err := r.Output()
		if err != nil || got.Step != want.Step || got.Note != want.Note || got.Seconds != want.Seconds || !bytes.Equal(got.Kept, want.Kept) {
			t.Errorf("%s: %+v, %v; want %+v", data, got, err, want)
		}
		if kept, err := r.AppendOutput([]byte("-")); err != nil || string(kept) != "-"+string(want.Kept) {
			t.Errorf("%s: %q, %v", data, kept, err)
		}
	}
	for _, data := range []string{`{"step":1,"output":"!"}`, `{"step":"x","output":"aGk="}`, `x`} {
		r := journal.Record{Data: json.RawMessage(data)}
		if d, err := r.Output(); err == nil {
			t.Errorf("%s: %+v without an error", data, d)
		}
	}
}

// Head finds the members that encoding/json finds.
func FuzzHead(f *testing.F) {
	for line := range bytes.Lines(written(f)) {
		f.Add(bytes.TrimSuffix(line, []byte("\n")))
	}
	f.Add([]byte(`{"v":2,"seq":1,"attempt":1,"start":0,"calls":0,"cost":0,"t":"2026-01-02T03:04:05Z","type":"x","data":`))
	f.Add([]byte(`,"data":`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, ok := journal.Head(line)
		var whole journal.Record
		if !ok || json.Unmarshal(line, &whole) != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(r.Data))
		var data json.RawMessage
		if d.Decode(&data) != nil || !bytes.HasPrefix(r.Data[d.InputOffset():], []byte("}")) && !bytes.HasPrefix(r.Data[d.InputOffset():], []byte(`,"crc":`)) {
			return // other members follow, which may be the same ones again
		}
		if r.Seq != whole.Seq || r.Attempt != whole.Attempt || r.Start != whole.Start || r.Type != whole.Type || !r.Time.Equal(whole.Time) || !bytes.HasPrefix(r.Data, whole.Data) {
			t.Errorf("%s: %+v, want %+v", line, r, whole)
		}
	})
}

// A crash of the machine may leave gigabytes of zeros behind the last record.
func TestTheEndOfALargeJournalIsFoundInALittleMemory(t *testing.T) {
	tier.Rest(t)
	const size, most = 3 << 30, 100 << 20
	text := written(t)
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	for name, c := range map[string]struct {
		begins int64 // where the records do, after zeros
		torn   int64
	}{
		"torn":  {0, size - int64(len(text))},
		"whole": {size - int64(len(text)), 0},
	} {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(text, c.begins)
		if c.begins > 0 {
			_, newline := f.WriteAt([]byte("\n"), c.begins-1)
			err = errors.Join(err, newline)
		}
		if err := errors.Join(err, f.Truncate(size), f.Close()); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tail, err := journal.ReadTail(path)
		runtime.ReadMemStats(&after)
		if err != nil || tail.Last.Type != journal.TypeOutput || tail.Torn != c.torn || tail.End != size-c.torn {
			t.Errorf("%s: got %+v, %v; want the last output, and %d bytes behind it", name, tail, err, c.torn)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%s: it took %d bytes, want at most %d", name, used, most)
		}
	}
}
