package runs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

const multimodal = "../../../shared/data/datasets/SWE-bench_Multimodal-dev.parquet"

// drawing returns a PNG that no other number has.
func drawing(t testing.TB, n int) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 40, 30))
	for i := range img.Pix {
		img.Pix[i] = byte(i * (n + 3))
	}
	img.Set(0, 0, color.Gray{byte(n)})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// web is a proxy that has every picture of the internet, since batch asks no server on this machine.
type web struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // in order
}

func newWeb(t *testing.T, answer http.HandlerFunc) *web {
	t.Helper()
	w := &web{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked = append(w.asked, r.URL.String())
		w.mu.Unlock()
		answer(rw, r)
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *web) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// env makes a program find the pictures.
func (w *web) env() []string {
	return []string{"HTTP_PROXY=" + w.URL, "http_proxy=" + w.URL, "NO_PROXY=", "no_proxy="}
}

// illustrated writes rows with pictures in dir: statements and columns of real rows, on a demo image.
func illustrated(t *testing.T, dir string, ids ...string) (pictures map[string][]dataset.Picture) {
	t.Helper()
	if _, err := os.Stat(multimodal); err != nil {
		t.Skip("the real rows are not in ../shared/data")
	}
	d, err := dataset.Open(t.Context(), dataset.Source{Name: multimodal})
	if err != nil {
		t.Fatal(err)
	}
	prefix, pictures := e2e.OwnRows(t, dir), map[string][]dataset.Picture{}
	var rows bytes.Buffer
	for _, in := range d.Instances {
		if !slices.Contains(ids, in.ID) {
			continue
		}
		plain := func(text any) string { return strings.ReplaceAll(text.(string), "https://", "http://") } // the proxy cannot speak for a server with TLS
		row := dataset.Instance{ProblemStatement: plain(in.ProblemStatement), Fields: map[string]any{"image_assets": plain(in.Fields["image_assets"])}}
		id := prefix + in.ID
		if pictures[id], err = row.Pictures(); err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&rows).Encode(map[string]any{
			"instance_id": id, "problem_statement": row.ProblemStatement, "image_assets": row.Fields["image_assets"], "image_name": "batch-demo/demo__slug-1:latest",
		}); err != nil {
			t.Fatal(err)
		}
	}
	e2e.WriteFiles(t, dir, map[string]string{"rows.jsonl": rows.String()})
	return pictures
}

// forms are the beginnings of an image in a request, before its bytes.
var forms = map[stub.Protocol]string{
	stub.Chat:      `{"type":"image_url","image_url":{"url":"data:image/png;base64,`,
	stub.Responses: `data:image/png;base64,`,
	stub.Anthropic: `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`,
	stub.Gemini:    `{"inlineData":{"mimeType":"image/png","data":"`,
}

// looker draws a picture, looks at it and at a text with its name, and submits.
func looker(seen []byte) func(int, *stub.Request) stub.Answer {
	view := func(path string) llm.Part {
		return llm.ToolCall{ID: "call_" + filepath.Base(path)[:1], Name: "editor", Arguments: fmt.Sprintf(`{"command":"view","path":%q}`, path)}
	}
	return func(_ int, r *stub.Request) stub.Answer {
		usage := vocab.Usage{Input: 1000, Output: 50}
		switch r.Replies() {
		case 0:
			return stub.Answer{Parts: []llm.Part{stub.BashCall("call_0", "base64 -d <<'E' > /tmp/seen.PNG\n"+base64.StdEncoding.EncodeToString(seen)+"\nE\necho text > /tmp/text.png")}, Usage: usage}
		case 1:
			return stub.Answer{Parts: []llm.Part{view("/tmp/seen.PNG"), view("/tmp/text.png")}, Usage: usage}
		default:
			return stub.Answer{Parts: []llm.Part{stub.BashCall("call_9", "echo "+vocab.Marker)}, Usage: usage}
		}
	}
}

// The images of a statement follow its text in each protocol's form, in order, once. A run that is killed after
// the model has seen one in its container sends the same, and asks for no image again.
func TestImagesReachTheModelInAllProtocols(t *testing.T) {
	tier.Rest(t, "llm", "attempt/session", "attempt/*.go", "journal", "runner", "agent/*.go", "run/*.go", "dataset/picture.go", "internal/fetch")
	e2e.NeedDocker(t)
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		seen := drawing(t, 200)
		args := []string{"-w", "1", "-c", "model.action_form=tools"}
		calm, calmDir := stub.NewServerFunc(t, looker(seen)), wireDir(t, w)
		var pictures []dataset.Picture
		for _, list := range illustrated(t, calmDir, "chartjs__Chart.js-10301") {
			pictures = list
		}
		var want [][]byte
		answer := func(rw http.ResponseWriter, r *http.Request) {
			n := slices.IndexFunc(pictures, func(p dataset.Picture) bool { return p.URL == r.URL.String() })
			if n < 0 {
				http.NotFound(rw, r)
				return
			}
			_, _ = rw.Write(want[n])
		}
		for i := range pictures {
			want = append(want, drawing(t, i))
		}
		if len(want) != 3 {
			t.Fatalf("%d pictures, want 3", len(want))
		}
		internet := newWeb(t, answer)
		out, code := w.with(internet.env()).run(t, calmDir, calm, args...)
		if code != e2e.ExitOK {
			t.Fatalf("exit code %d, want %d\n%s", code, e2e.ExitOK, out)
		}
		if n := len(internet.requests()); n != 3 {
			t.Errorf("%d downloads, want 3: %v", n, internet.requests())
		}
		bodies := calm.Requests()
		if len(bodies) != 3 {
			t.Fatalf("%d requests, want 3", len(bodies))
		}
		for i, r := range bodies {
			at := strings.Index(string(r.Body), "Legend event onLeave")
			for n, data := range slices.Concat(want, map[bool][][]byte{true: {seen}}[i == 2]) {
				text := forms[w.protocol] + base64.StdEncoding.EncodeToString(data)
				place := strings.Index(string(r.Body), text)
				if place <= at || strings.Count(string(r.Body), base64.StdEncoding.EncodeToString(data)) != 1+map[bool]int{true: 1}[n == 3] {
					t.Errorf("request %d: image %d is at %d, after %d\n%.3000s", i+1, n, place, at, r.Body)
				}
				at = place
			}
		}
		if text := string(bodies[2].Body); !strings.Contains(text, "This is no picture that can be shown: it is text/plain") {
			t.Error("the model is not told what was no picture")
		}
		checkJournal(t, calmDir, want, seen)

		server, dir := stub.NewServerFunc(t, looker(seen)), wireDir(t, w)
		e2e.WriteFiles(t, dir, map[string]string{"rows.jsonl": readText(t, filepath.Join(calmDir, "rows.jsonl"))})
		if out, code := w.with(internet.env()).run(t, dir, server, append(args, "--inject", "model.call:3=kill")...); code != -1 {
			t.Fatalf("the run was not killed: exit code %d\n%s", code, out)
		}
		if out, code := w.command(t, dir, server, e2e.PlantedKey, "resume", "out", "-q"); code != e2e.ExitOK { // without a proxy
			t.Fatalf("exit code %d, want %d\n%s", code, e2e.ExitOK, out)
		}
		got := server.Requests()
		if len(got) != 3 {
			t.Fatalf("%d requests of a run that was killed, want 3", len(got))
		}
		for i := range got {
			if !bytes.Equal(got[i].Body, bodies[i].Body) {
				t.Errorf("request %d differs after a kill", i+1)
			}
		}
		checkJournal(t, dir, want, seen)
	})
}

// with returns w with more variables for the program.
func (w wire) with(env []string) wire {
	w.env = env
	return w
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkJournal checks that the only journal has each image once, and that people see them.
func checkJournal(t *testing.T, dir string, want [][]byte, seen []byte) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "out", "*", "journal.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d journals, %v", len(found), err)
	}
	text := readText(t, found[0])
	for i, data := range want {
		if n := strings.Count(text, base64.StdEncoding.EncodeToString(data)); n != 1 {
			t.Errorf("image %d is %d times in the journal", i, n)
		}
	}
	if n := strings.Count(text, base64.StdEncoding.EncodeToString(append([]byte(vocab.PictureMark), seen...))); n != 1 || strings.Contains(text, `"data":"`+base64.StdEncoding.EncodeToString(seen)) {
		t.Errorf("the picture in the container is %d times in the journal, want 1, and not in a message", n)
	}
	for command, where := range map[string]string{"--chat": "c.jsonl", "--atif": "atif"} {
		if code, out := e2e.ExitCode(t, e2e.Batch(t, dir, "export", "out", command, where)); code != e2e.ExitOK {
			t.Fatalf("%s: %d\n%s", command, code, out)
		}
	}
	all := append(slices.Clone(want), seen)
	chat := readText(t, filepath.Join(dir, "c.jsonl"))
	for i, data := range all {
		if !strings.Contains(chat, "data:image/png;base64,"+base64.StdEncoding.EncodeToString(data)) {
			t.Errorf("image %d is not in the chat line", i)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "atif", "*.images", fmt.Sprintf("%d.png", i+1)))
		if len(files) != 1 || readText(t, files[0]) != string(data) {
			t.Errorf("image %d of the ATIF is not exact: %v", i, files)
		}
	}
	if code, out := e2e.ExitCode(t, e2e.Batch(t, dir, "view", "out", "--export", "pages")); code != e2e.ExitOK {
		t.Fatalf("%d\n%s", code, out)
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "pages", "run", "*", "*-10301.html"))
	if len(pages) != 1 || strings.Count(readText(t, pages[0]), `<img src="data:image/png;base64,`) != len(all) {
		t.Errorf("the pages %v do not show %d images", pages, len(all))
	}
	for _, name := range []string{"c.jsonl", "atif", "pages"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// A run without the network takes the images from a folder. What is missing or is no image ends the
// instance before anything is paid; others go on.
func TestImagesThatCannotBeShown(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	w := wires[0]
	whole := drawing(t, 1)
	internet := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		switch strings.TrimPrefix(r.URL.Path, "/") {
		case "html.png":
			rw.Header().Set("Content-Type", "image/png")
			fmt.Fprint(rw, "<!DOCTYPE html><script>alert(1)</script>")
		case "typed.png":
			rw.Header().Set("Content-Type", "text/html")
			_, _ = rw.Write(whole)
		case "private.png":
			http.Redirect(rw, r, "http://127.0.0.1:9/a.png", http.StatusFound)
		case "metadata.png":
			http.Redirect(rw, r, "http://169.254.169.254/a.png", http.StatusFound)
		case "large.png":
			for range 100 {
				if _, err := rw.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "cut.png":
			_, _ = rw.Write(whole[:len(whole)/2])
		case "picture.svg":
			fmt.Fprint(rw, `<svg xmlns="http://www.w3.org/2000/svg"/>`)
		case "missing.png":
			http.NotFound(rw, r)
		default:
			_, _ = rw.Write(whole)
		}
	})
	dir := wireDir(t, w)
	prefix := e2e.OwnRows(t, dir)
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("http://x.test/%d.png", i)
	}
	cases := map[string]struct {
		addresses []string
		problem   string
	}{
		"html":    {[]string{"http://x.test/html.png"}, "it is text/html, expected a PNG"},
		"private": {[]string{"http://x.test/private.png"}, "127.0.0.1:9 is not a public server"},
		"proxied": {[]string{"http://x.test/metadata.png"}, "169.254.169.254 is not a public server"},
		"large":   {[]string{"http://x.test/large.png"}, "more than 10485760 bytes"},
		"cut":     {[]string{"http://x.test/a.png", "http://x.test/cut.png"}, "getting image 2 of 2"},
		"svg":     {[]string{"http://x.test/picture.svg"}, "it is image/svg+xml, expected"},
		"missing": {[]string{"http://x.test/missing.png"}, "404 Not Found"},
		"file":    {[]string{"file:///etc/passwd"}, "is not an http address"},
		"typed":   {[]string{"http://x.test/typed.png"}, ""},
		"twice":   {[]string{"http://x.test/a.png", "http://x.test/a.png"}, ""},
		"many":    {many, ""},
	}
	var rows bytes.Buffer
	for name, c := range cases {
		column, err := json.Marshal(map[string]any{"problem_statement": c.addresses})
		if err == nil {
			err = json.NewEncoder(&rows).Encode(map[string]any{
				"instance_id": prefix + name, "problem_statement": name + ": " + strings.Join(c.addresses, " "),
				"image_assets": string(column), "image_name": "batch-demo/demo__slug-1:latest",
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	e2e.WriteFiles(t, dir, map[string]string{"rows.jsonl": rows.String()})
	server := stub.NewServerFunc(t, func(int, *stub.Request) stub.Answer { return stub.Bash("echo " + vocab.Marker) })
	if out, code := w.with(internet.env()).run(t, dir, server, "--retry", "transient=0"); code != e2e.ExitIncomplete {
		t.Fatalf("exit code %d, want %d\n%s", code, e2e.ExitIncomplete, out)
	}
	read, err := results.Read(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range read.Records {
		c := cases[strings.TrimPrefix(r.InstanceID, prefix)]
		if c.problem == "" && r.Outcome.Final() {
			continue
		}
		if r.Status != vocab.StatusInstanceFault || !strings.Contains(r.Error, c.problem) || r.Steps != 0 || c.problem == "" {
			t.Errorf("%s: %s after %d steps: %s; want %q", r.InstanceID, r.Status, r.Steps, r.Error, c.problem)
		}
	}
	shown := map[string]int{}
	for _, r := range server.Requests() {
		for name := range cases {
			if strings.Contains(string(r.Body), name+": ") {
				shown[name] = strings.Count(string(r.Body), `"type":"image_url"`)
			}
		}
	}
	if want := map[string]int{"typed": 1, "twice": 1, "many": 40}; fmt.Sprint(shown) != fmt.Sprint(want) {
		t.Errorf("images in the requests: %v, want %v", shown, want)
	}
}

func TestImagesWithoutTheNetwork(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	w, dir := wires[0], wireDir(t, wires[0])
	internet := newWeb(t, func(rw http.ResponseWriter, r *http.Request) { http.Error(rw, "offline", http.StatusBadGateway) })
	all := illustrated(t, dir, "chartjs__Chart.js-10301", "chartjs__Chart.js-10157")
	number, missing := 0, ""
	for id, pictures := range all {
		for i, p := range pictures {
			if len(pictures) == 1 {
				missing = id
				continue
			}
			number++
			e2e.WriteFiles(t, dir, map[string]string{filepath.Join("tasks", id, "problem_assets", p.File): string(drawing(t, i))})
		}
	}
	server := stub.NewServerFunc(t, func(int, *stub.Request) stub.Answer { return stub.Bash("echo " + vocab.Marker) })
	out, code := w.with(internet.env()).run(t, dir, server, "--assets", "tasks")
	requests := server.Requests()
	if code != e2e.ExitIncomplete || number != 3 || len(requests) != 1 || strings.Count(string(requests[0].Body), "data:image/png;base64,") != 3 {
		t.Fatalf("exit code %d, %d requests, %d images\n%s", code, len(requests), number, out)
	}
	if n := internet.requests(); len(n) > 0 {
		t.Errorf("asked for %v", n)
	}
	read, err := results.Read(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range read.Records {
		if r.InstanceID == missing && (r.Status != vocab.StatusInstanceFault || !strings.Contains(r.Error, filepath.Join("tasks", missing, "problem_assets"))) {
			t.Errorf("%s: %s: %s", missing, r.Status, r.Error)
		}
	}

	e2e.WriteFiles(t, dir, map[string]string{"prices.json": `{"openai/stub-1": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "supports_vision": false}}`})
	if out, code := w.run(t, dir, server, "-o", "blind"); code != e2e.ExitUsage || !strings.Contains(out, "takes no images") || !strings.Contains(out, "-c agent.images=false") {
		t.Errorf("a model without sight: exit code %d\n%s", code, out)
	}
	if out, code := w.run(t, dir, server, "-o", "without", "-c", "agent.images=false"); code != e2e.ExitOK {
		t.Errorf("without images: exit code %d\n%s", code, out)
	}
	for _, r := range server.Requests()[1:] {
		if strings.Contains(string(r.Body), "image_url") {
			t.Error("a model without sight was sent an image")
		}
	}
	manifest := readText(t, filepath.Join(dir, "without", "manifest.json"))
	if !strings.Contains(manifest, `"images": false`) {
		t.Error("the manifest does not say that there were no images")
	}
}

// A row without the column costs nothing more: no download, and the same requests.
func TestRowsWithoutImagesAreSentAsBefore(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	w := wires[0]
	var bodies [][]byte
	for _, on := range []string{"true", "false"} {
		dir := wireDir(t, w)
		e2e.WriteFiles(t, dir, map[string]string{"rows.jsonl": `{"instance_id":"` + strings.TrimSuffix(e2e.OwnRows(t, dir), "__") +
			`__1","problem_statement":"see ![](http://x.test/a.png)","image_name":"batch-demo/demo__slug-1:latest"}` + "\n"})
		internet := newWeb(t, http.NotFound)
		server := stub.NewServerFunc(t, looker(drawing(t, 1)))
		if out, code := w.with(internet.env()).run(t, dir, server, "-c", "model.action_form=toolcall", "-c", "agent.images="+on, "-c", "agent.step_limit=1"); code != e2e.ExitOK {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		if n := internet.requests(); len(n) > 0 {
			t.Errorf("asked for %v", n)
		}
		if _, err := os.Stat(filepath.Join(dir, "state", "batch", "pictures")); err == nil {
			t.Error("there is a folder of images")
		}
		bodies = append(bodies, server.Requests()[0].Body)
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		t.Errorf("%s\nwithout images\n%s", bodies[0], bodies[1])
	}
}
