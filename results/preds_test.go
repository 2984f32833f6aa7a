package results_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/internal/sample"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
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
		if _, err := s.Put(t.Context(), r); err != nil {
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

// An unreadable file may contain paid results: nothing runs into its directory.
func TestAPredictionsFileThatCannotBeReadIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "it is empty"},
		"white space":        {" \n", "it is empty"},
		"zeros":              {"\x00\x00\x00", "it is empty"},
		"no entries":         {`["done"]`, "entry 1: a prediction has to be a JSON object"},
		"UTF-16":             {"\xff\xfe{\x00}\x00", "UTF-16"},
		"a broken id":        {"{\"a\xff\": 1}", "entry 1: its name"},
		"cut in an entry":    {peers[:strings.Index(peers, `"empty"`)+30], "entry 3: the JSON text ends too early"},
		"cut between":        {peers[:strings.Index(peers, `"limit"`)], "entry 2: the JSON text ends too early"},
		"cut at its end":     {strings.TrimSuffix(peers, "}"), "the file is cut"},
		"two objects":        {peers + peers, "line 5: text after the end"},
		"something after it": {peers + "x", "line 5: text after the end"},
		"a member has all":   {`{"predictions": [` + "{}" + `]}`, "it has no prediction: entry 1: a prediction has to be a JSON object"},
		"by model":           {`{"m": {"a": {"model_patch": "p"}}}`, "it has no prediction: entry 1: model_patch is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, c.text, dir, "preds.json")
			_, looked := results.Look(dir)
			_, opened := results.Open(dir, results.Options{})
			for _, err := range []error{looked, opened} {
				if fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), c.want) || fault.HintOf(err) == "" {
					t.Errorf("got %v (hint %q), want a Usage fault with %q", err, fault.HintOf(err), c.want)
				}
			}
			if got := read(t, dir, "preds.json"); got != c.text {
				t.Errorf("preds.json is %q, was %q", got, c.text)
			}
		})
	}
}

// Batch's predictions are in the journals: a power cut that empties the file does not end a
// run.
func TestAnEmptyPredictionsFileIsPutBackFromTheJournals(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "patch"))
	closeStore(t, s)
	write(t, "\x00\x00", dir, "preds.json")
	s = open(t, dir)
	if r, ok := s.Finished("a"); !ok || r.Attempt != 1 {
		t.Errorf("got %+v, %v; want attempt 1", r, ok)
	}
	closeStore(t, s)
	if p := preds(t, dir); p["a"].Patch != "patch" {
		t.Errorf("got %+v", p)
	}
}

// A prediction that a person helped with says so, also in a run that imports it.
func TestHelpIsMarkedInThePrediction(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	helped := result("a", "patch")
	helped.Record.Said = 2
	put(t, s, helped)
	put(t, s, result("b", "patch"))
	closeStore(t, s)
	marked := read(t, dir, "preds.json")
	if strings.Count(marked, "said") != 1 || !strings.Contains(marked, "\"model_patch\": \"patch\",\n    \"said\": 2\n  }") {
		t.Errorf("preds.json is %s", marked)
	}
	write(t, "", dir, "preds.json")
	s = open(t, dir)
	list, err := s.Predictions(nil)
	closeStore(t, s)
	if err != nil || len(list) != 2 || list[0].Said != 2 || list[1].Said != 0 {
		t.Fatalf("got %+v, %v", list, err)
	}
	if again := read(t, dir, "preds.json"); again != marked {
		t.Errorf("put back from the journals: %s", again)
	}
	write(t, strings.Replace(marked, `"said": 2`, `"said": "no"`, 1), dir, "preds.json")
	if there, err := results.Look(dir); err != nil {
		t.Error(err)
	} else if seen, err := there.Predictions(nil); err != nil || seen[0].Said != 2 {
		t.Errorf("with the mark removed: %+v, %v", seen, err)
	}
	other := t.TempDir()
	s = open(t, other)
	if err := s.Import(list); err != nil {
		t.Error(err)
	}
	closeStore(t, s)
	if got := read(t, other, "preds.json"); got != marked {
		t.Errorf("imported: %s", got)
	}
}

// Each form that is tolerated keeps its predictions, and the file as it was.
func TestOtherFormsOfPredictionsAreKept(t *testing.T) {
	const entry = `{"model_name_or_path":"m","instance_id":"done","model_patch":"p"}`
	for name, c := range map[string]struct{ text, note string }{
		"byte order mark": {"\ufeff{\"done\": " + entry + "}", "byte order mark"},
		"NaN":             {`{"done": {"cost": NaN, "x": [-Infinity], ` + entry[1:] + "}", "NaN or Infinity"},
		"list":            {"[" + entry + "]", "is a list"},
		"lines":           {entry + "\n", "rows that follow each other"},
		"latin-1":         {"{\"done\": {\"note\": \"caf\xe9\", " + entry[1:] + "}", "bytes that are not UTF-8, the first in line 1"},
		"comma":           {"{\"done\": " + entry + ",}", "a comma too many in line 1"},
		"commas":          {"{,,\"done\": " + entry + "\n}", "a comma too many in line 1"},
		"twice":           {"{\"done\": {\"model_patch\": \"q\"}, \"done\": " + entry + "}", "entries that are not written again"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, c.text, dir, "preds.json")
			write(t, "older", dir, "preds.json.original-1")
			s := open(t, dir)
			if notes := strings.Join(s.Recovered(), "\n"); !strings.Contains(notes, c.note) || !strings.Contains(notes, "kept as preds.json.original-2") {
				t.Errorf("notes %q, want %q and the original's name", notes, c.note)
			}
			if r, ok := s.Finished("done"); !ok || r.PatchBytes != 1 || r.Model != "m" {
				t.Errorf("got %+v, %v", r, ok)
			}
			closeStore(t, s)
			if got := read(t, dir, "preds.json.original-2"); got != c.text {
				t.Errorf("the original is %q, want %q", got, c.text)
			}
			if p := preds(t, dir); p["done"].Patch != "p" || len(p) != 1 {
				t.Errorf("got %+v", p)
			}
			s = open(t, dir)
			if notes := s.Recovered(); len(notes) > 0 {
				t.Errorf("notes %q on what was written again", notes)
			}
			closeStore(t, s)
		})
	}
}

// An entry that is not a prediction is kept, does not count, and is replaced only on
// request.
func TestAnEntryThatIsNoPredictionIsKept(t *testing.T) {
	for _, bad := range []string{`null`, `"failed"`, `{"model_patch":["x"]}`, `{"model_name_or_path":"m"}`, `{"model_patch":NaN}`} {
		dir := t.TempDir()
		write(t, `{"bad": `+bad+`, "good": {"model_patch": "p"}}`, dir, "preds.json")
		write(t, `{"info": {"exit_status": "Submitted"}}`, dir, "bad", "bad.traj.json")
		s := open(t, dir)
		if _, ok := s.Finished("bad"); ok {
			t.Errorf("%s: it counts as a result", bad)
		}
		if err := s.Fit([]string{"good", "other"}); err != nil {
			t.Errorf("%s: %v", bad, err)
		}
		for _, err := range []error{s.Fit([]string{"bad"}), s.CanImport([]results.Prediction{{InstanceID: "bad"}})} {
			if fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), "entry 1: ") || !strings.Contains(fmt.Sprint(err), "bad") {
				t.Errorf("%s: %v, want a Usage fault that names the entry", bad, err)
			}
		}
		if _, err := s.Predictions([]string{"bad"}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a Usage fault", bad, err)
		}
		if all, err := s.Predictions(nil); err != nil || len(all) != 1 {
			t.Errorf("%s: %v, %v", bad, all, err)
		}
		put(t, s, result("new", "q"))
		closeStore(t, s)
		var kept map[string]json.RawMessage
		if err := json.Unmarshal([]byte(read(t, dir, "preds.json")), &kept); err != nil || len(kept) != 3 {
			t.Errorf("%s: %v, %s", bad, err, kept)
		}
		if bad == `"failed"` && string(kept["bad"]) != bad {
			t.Errorf("%s became %s", bad, kept["bad"])
		}
	}
}

// Whatever one byte of a file is: either the file is refused unchanged, or its content is in
// the new file or in the kept original.
func TestAWrongByteLosesNoPrediction(t *testing.T) {
	const entry = `{"instance_id":"a_1","model_patch":"p\n"}`
	for _, form := range []string{`{"a_1":` + entry + `,"b_2":{"model_patch":null}}`, "[" + entry + "]", entry + "\n" + entry} {
		for _, i := range sample.Of(t, 30, len(form)) {
			text := []byte(form)
			text[i] ^= []byte{0x80, 0x01, 0x20}[i%3]
			dir := t.TempDir()
			write(t, string(text), dir, "preds.json")
			s, err := results.Open(dir, results.Options{})
			if err != nil {
				if got := read(t, dir, "preds.json"); fault.KindOf(err) != fault.Usage || got != string(text) {
					t.Errorf("%q: %v, and the file is %q", text, err, got)
				}
				continue
			}
			if err := errors.Join(s.WritePredictions(t.Context()), s.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "preds.json.original-1")); err == nil {
				continue
			}
			if want, got := scanned(t, text), scanned(t, []byte(read(t, dir, "preds.json"))); want != got {
				t.Errorf("%q: it has %q, had %q", text, got, want)
			}
		}
	}
}

// scanned returns the content of a file.
func scanned(t *testing.T, text []byte) string {
	var all strings.Builder
	_, err := swebench.ScanPredictions("f", text, func(p swebench.Prediction) error {
		fmt.Fprintf(&all, "%q %q %q %v\n", p.InstanceID, p.Model, p.Patch, p.Unfit)
		return nil
	})
	if err != nil {
		t.Errorf("%q: %v", text, err)
	}
	return all.String()
}
