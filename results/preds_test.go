package results_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

func castagnoli(text string) uint32 {
	return crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
}

func TestPredictionsHaveTheFormOfPythonsJSON(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var all strings.Builder
	for r := rune(0); r < 0x3000; r++ {
		all.WriteRune(r)
	}
	all.WriteString("\ufeff\uffff\U00010000\U0001f600\U0010ffff")
	for i, patch := range []string{"", hostile, all.String(), "plain\n"} {
		put(t, s, result(fmt.Sprintf("i-%d-é", i), patch))
	}
	closeStore(t, s)
	// Python 3.11 wrote this; without Python on the machine the digest still checks the form.
	const pythons = "bf13ee10b091da92670fc40ad1a8016c625878d9f94a3b144174906ede5c3e13"
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, dir, "preds.json")))); sum != pythons {
		t.Errorf("preds.json has the digest %s, Python's has %s", sum, pythons)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("no python3 here to compare with as well")
		return
	}
	const script = "import json,sys; sys.stdout.write(json.dumps(json.load(open(sys.argv[1], encoding='utf-8')), indent=2))"
	for _, name := range []string{"preds.json", "i-2-é/i-2-é.traj.json"} {
		out, err := exec.Command(python, "-c", script, filepath.Join(dir, name)).Output() //nolint:noctx // a second at most
		if err != nil {
			t.Fatalf("python3 cannot read %s: %v", name, err)
		}
		if diff := cmp.Diff(string(out), read(t, dir, name)); diff != "" {
			t.Errorf("%s differs from Python's form:\n%s", name, diff)
		}
	}
}

func FuzzPredictionsRoundTrip(f *testing.F) {
	f.Add("a", "model", "patch\r\n")
	f.Add("é", "m/é", hostile)
	f.Add("x", "", "\U0010ffff\ufffd\u2028")
	f.Add("x", "\"\\", "\xff")
	f.Fuzz(func(t *testing.T, id, model, patch string) {
		dir := t.TempDir()
		s := open(t, dir)
		r := result(id, patch)
		r.Record.Model = model
		if err := s.Put(t.Context(), r); err != nil {
			exact := utf8.ValidString(id) && utf8.ValidString(model) && utf8.ValidString(patch)
			if kind := fault.KindOf(err); kind != fault.Instance && (exact || kind != fault.Bug) {
				t.Fatal(err) // not caused by the id or the encoding
			}
			return
		}
		closeStore(t, s)
		want := map[string]entry{id: {model, id, patch}}
		if diff := cmp.Diff(want, preds(t, dir)); diff != "" {
			t.Fatalf("preds (-want +got):\n%s", diff)
		}
		before := read(t, dir, "preds.json")
		if !json.Valid([]byte(before)) || strings.ContainsFunc(before, func(r rune) bool { return r > 0x7f }) {
			t.Fatalf("not plain ASCII JSON: %q", before)
		}
		s = open(t, dir)
		if err := s.WritePredictions(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := read(t, dir, "preds.json"); after != before {
			t.Fatalf("rewriting changed the bytes:\n%s\n%s", before, after)
		}
		if _, ok := s.Finished(id); !ok {
			t.Fatal("an instance is not finished after reopening")
		}
	})
}

const peers = `{"done": {"model_name_or_path": "m", "instance_id": "done", "model_patch": "diff \ud800 \u00E9\n", "extra": [1.50, {}]},
 "limit": {"model_name_or_path": "m", "instance_id": "limit", "model_patch": ""},
 "empty": {"model_name_or_path": "m", "instance_id": "empty", "model_patch": null},
 "broken": {"model_name_or_path": "m", "instance_id": "broken", "model_patch": ""},
 "no/traj": {"model_name_or_path": "m", "instance_id": "no/traj", "model_patch": ""}}`

func peersDir(t *testing.T) string {
	dir := t.TempDir()
	write(t, peers, dir, "preds.json")
	for id, status := range map[string]string{"limit": "LimitsExceeded", "empty": "Submitted", "broken": "CalledProcessError"} {
		write(t, fmt.Sprintf(`{"info": {"model_stats": {"instance_cost": 0.5, "api_calls": 7}, "exit_status": %q}, "messages": [`, status),
			dir, id, id+".traj.json")
	}
	return dir
}

func TestADirectoryOfMiniSWEAgentIsContinued(t *testing.T) {
	dir := peersDir(t)
	s := open(t, dir)
	want := map[string]vocab.Outcome{"done": vocab.OutcomeSubmitted, "limit": vocab.OutcomeLimit, "empty": vocab.OutcomeEmpty}
	for _, id := range []string{"done", "limit", "empty", "broken", "no/traj"} {
		r, ok := s.Finished(id)
		if w, finished := want[id]; ok != finished || finished && (r.Outcome != w || r.Attempt != 0) {
			t.Errorf("Finished(%s) = %+v, %v", id, r, ok)
		}
	}
	if r, _ := s.Finished("limit"); r.Steps != 7 || r.Cost != 0.5 {
		t.Errorf("limit: %+v, want steps 7, cost 0.5", r)
	}
	if s.Spent() != 0 {
		t.Errorf("Spent %v: want 0, since no journal has a cost", s.Spent())
	}
	put(t, s, result("broken", "fixed"))
	put(t, s, failed("no-traj"))
	closeStore(t, s)
	got := read(t, dir, "preds.json")
	wantHead := "{\n  \"done\": {\n    \"model_name_or_path\": \"m\",\n    \"instance_id\": \"done\",\n    \"model_patch\": \"diff \\ud800 \\u00E9\\n\",\n" +
		"    \"extra\": [\n      1.50,\n      {}\n    ]\n  },\n  \"limit\""
	if !strings.HasPrefix(got, wantHead) {
		t.Errorf("entries of other tools changed:\n%s", got)
	}
	if p := preds(t, dir); p["broken"].Patch != "fixed" || len(p) != 5 {
		t.Errorf("got %+v, want patch %q, 5 predictions", p, "fixed")
	}
	wantYAML := "instances_by_exit_status:\n    LimitsExceeded:\n    - limit\n    Submitted:\n    - broken\n    - empty\n" +
		"    TransientFault:\n    - no-traj\n    Unknown:\n    - done\n    - no/traj\n"
	if diff := cmp.Diff(wantYAML, read(t, dir, "exit_statuses.yaml")); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestALaterPredictionOfAnotherToolIsKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "batch"))
	put(t, s, result("b", "batch"))
	put(t, s, result("c", "batch"))
	closeStore(t, s)
	text := strings.Replace(read(t, dir, "preds.json"), "batch", "other tool", 1) // a's
	at := strings.Index(text, `"b"`)
	text = text[:at] + strings.Replace(text[at:], "batch", "", 1) // b's is emptied
	write(t, text, dir, "preds.json")
	s = open(t, dir)
	for id, attempt := range map[string]int{"a": 0, "b": 1, "c": 1} {
		if r, ok := s.Finished(id); !ok || r.Attempt != attempt {
			t.Errorf("%s: got %+v %v; want ok true, attempt %v", id, r, ok, attempt)
		}
	}
	closeStore(t, s)
	if p := preds(t, dir); p["a"].Patch != "other tool" || p["b"].Patch != "batch" || p["c"].Patch != "batch" {
		t.Errorf("got %+v, want patch %q, patch %q, patch %q", p, "other tool", "batch", "batch")
	}
}

func TestACorruptPredictionsFileIsMovedAside(t *testing.T) {
	whole := peers
	cases := map[string]struct {
		text string
		kept int
	}{
		"empty":              {"", 0},
		"white space":        {" \n", 0},
		"zeros":              {"\x00\x00\x00", 0},
		"no object":          {`["done"]`, 0},
		"not UTF-8":          {"{\"a\xff\": 1}", 0},
		"wrong entry":        {`{"a": "patch"}`, 0},
		"wrong patch":        {`{"a": {"model_patch": 7}}`, 0},
		"cut in an entry":    {whole[:strings.Index(whole, `"empty"`)+30], 2},
		"cut between":        {whole[:strings.Index(whole, `"limit"`)], 1},
		"cut at its end":     {strings.TrimSuffix(whole, "}"), 5},
		"two objects":        {whole + whole, 5},
		"something after it": {whole + "x", 5},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, c.text, dir, "preds.json")
			write(t, "older", dir, "preds.json.corrupt-1")
			s := open(t, dir)
			if told := s.Recovered(); len(told) != 1 || !strings.Contains(told[0], "preds.json.corrupt-2") {
				t.Errorf("recovered %q, want 1 report, %q in the first report", told, "preds.json.corrupt-2")
			}
			put(t, s, result("new", "x"))
			closeStore(t, s)
			if got := read(t, dir, "preds.json.corrupt-2"); got != c.text {
				t.Errorf("kept aside: %q, want %v", got, c.text)
			}
			if got := len(preds(t, dir)); got != c.kept+1 {
				t.Errorf("%d predictions, want %d", got, c.kept+1)
			}
		})
	}
}
