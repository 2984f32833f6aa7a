package runs

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/e2e"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/vocab"
)

// shownIDs are the instances of "verified" for shown lines: rows of the demo by other names.
var shownIDs = []string{"django__django-11019", "sympy__sympy-20590", "psf__requests-1142"}

var shownArgv = []string{"run", "--subset", "verified", "-m", "openai/gpt-5"}

const (
	shownCommit = "0123456789abcdef0123456789abcdef01234567"
	shownPatch  = "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
	shownPrices = `{"gpt-5": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.25e-06, "cache_read_input_token_cost": 1.25e-07, "output_cost_per_token": 1e-05}}`
)

// shownFiles are the files that shown lines name, in a folder that is also a home.
func shownFiles(t *testing.T) map[string]string {
	t.Helper()
	var rows strings.Builder
	for i, demo := range []string{"demo__slug-1", "demo__winini-2", "demo__retry-10"} {
		row, err := e2e.Batch(t, t.TempDir(), "dataset", "--subset", "demo", demo, "--json").Output()
		if err != nil {
			t.Fatal(err)
		}
		rows.WriteString(strings.Replace(string(row), `"instance_id":"`+demo, `"instance_id":"`+shownIDs[i], 1))
	}
	files := map[string]string{
		"rows.jsonl": rows.String(), "config.yaml": "{}", "my.yaml": "{}", "swebench.yaml": "{}", "replies.yaml": `"*": [one]`,
		"sweep.yaml":  "subset: verified\nslice: \":1\"\nmodels: [openai/gpt-5]\noutput: runs/swept\n",
		"preds.json":  fmt.Sprintf(`{%q: {"model_name_or_path": "m", "instance_id": %[1]q, "model_patch": %q}}`, shownIDs[0], shownPatch),
		"prices.json": shownPrices, "model_prices_and_context_window.json": shownPrices,
		"check/quarantine.txt": shownIDs[1] + "\n", "tokens": "alice: 0123456789abcdef\n",
		"logs/run_evaluation/" + shownIDs[0] + "/test_output.txt": "+ : '>>>>> Start Test Output'\nFAILED t\n+ : '>>>>> End Test Output'\n",
	}
	for _, name := range []string{"SWE-Bench_Verified", "SWE-Bench_Lite"} {
		cache := ".cache/huggingface/hub/datasets--princeton-nlp--" + name
		files[cache+"/refs/main"], files[cache+"/snapshots/"+shownCommit+"/test.jsonl"] = shownCommit, rows.String()
	}
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	files["cert.pem"] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))
	files["key.pem"] = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return files
}

// shownRun makes a run directory of three attempts: one with a patch that does not resolve its
// instance, one that reached a limit, and one whose provider failed.
func shownRun(t *testing.T, dir, rows string) {
	t.Helper()
	data, err := dataset.Open(t.Context(), dataset.Source{Name: rows})
	if err != nil {
		t.Fatal(err)
	}
	s, err := results.Open(dir, results.Options{Durability: journal.Process})
	if err != nil {
		t.Fatal(err)
	}
	var config any
	text, err := e2e.Batch(t, t.TempDir(), "config", "show", "-m", "openai/gpt-5", "--as", "json").Output()
	if err := cmp.Or(err, json.Unmarshal(text, &config)); err != nil {
		t.Fatal(err)
	}
	request, err := manifest.RequestOf(shownArgv, dir)
	if err != nil {
		t.Fatal(err)
	}
	err = s.WriteManifest(&manifest.Manifest{
		Command: "run", Argv: shownArgv, Request: request, Model: "openai/gpt-5", Config: config,
		Dataset: manifest.Dataset{Name: "verified", Split: "test", Revision: shownCommit, Digest: data.Digest, Count: len(shownIDs), Instances: shownIDs},
	})
	for i, r := range []results.Record{
		{Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Steps: 1},
		{Status: vocab.StatusTimeExceeded, Outcome: vocab.OutcomeLimit, Steps: 1},
		{Status: "TransientFault", Outcome: vocab.OutcomeInfrastructure, Blame: "transient"},
	} {
		r.InstanceID, r.Model = shownIDs[i], "openai/gpt-5"
		made := &results.Result{Record: r}
		if r.Outcome == vocab.OutcomeSubmitted {
			made.Submission, made.Prediction = []byte(shownPatch), shownPatch
		}
		_, begun := s.Begin(r.InstanceID, manifest.Settings{Model: r.Model, Config: config, Row: data.Instances[i].Digest()})
		_, put := s.Put(t.Context(), made)
		err = cmp.Or(err, begun, put)
	}
	log, opened := s.Grades()
	if err := cmp.Or(err, opened); err != nil {
		t.Fatal(err)
	}
	g := grades.Grade{InstanceID: shownIDs[0], Attempt: 1, Model: "openai/gpt-5", Patch: grades.PatchDigest(shownPatch), Verdict: vocab.VerdictUnresolved}
	if err := cmp.Or(log.Add(g), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// shownSweep makes a sweep of two attempts, which are both like the run directory made.
func shownSweep(t *testing.T, dir string, made fs.FS) {
	t.Helper()
	request, err := manifest.RequestOf(shownArgv, dir)
	if err != nil {
		t.Fatal(err)
	}
	x := &sweeps.Index{Argv: append([]string{"sweep", "--attempts", "2"}, shownArgv[1:]...)}
	for i, folder := range []string{"gpt-5@1", "gpt-5@2"} {
		if err := os.CopyFS(filepath.Join(dir, folder), made); err != nil {
			t.Fatal(err)
		}
		x.Cells = append(x.Cells, sweeps.Cell{Folder: folder, Entry: "gpt-5", Attempt: i + 1, Model: "openai/gpt-5", Argv: shownArgv, Request: request})
	}
	if err := x.Write(dir); err != nil {
		t.Fatal(err)
	}
}
