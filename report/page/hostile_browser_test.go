package page_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"batch.example/batch/report/page"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
)

// attacks try to run a script, load something or break out of their place.
var attacks = []string{
	`<script>hacked=1</script>`,
	`"><img src=x onerror=hacked=2>`,
	`' onmouseover='hacked=3' x='`,
	`</title></style></script><script>hacked=4</script>`,
	`<svg onload=hacked=5><desc></svg>`,
	`javascript:hacked=6`,
	`{{.Script}}<iframe srcdoc="<script>parent.hacked=7</script>">`,
	`<!-- --!><base href=http://example.com><link rel=stylesheet href=http://example.com/x.css>`,
	`&lt;img src=x onerror=hacked=8&gt;<meta http-equiv=refresh content="0;url=javascript:hacked=9">`,
	"\u202edetrever\x00\x1b[31m\u2028",
}

// hostileData has an attack in every text.
func hostileData() page.Data {
	d := invented(len(attacks)*3, 2, 1)
	for e := range d.Entries {
		a := &d.Entries[e].Runs[0]
		d.Entries[e].Name, d.Entries[e].Model = attacks[e]+attacks[4], attacks[e+2]+attacks[5]
		snap := a.Snapshot
		snap.Dir = "runs/" + attacks[e+1]
		m := snap.Manifest
		m.Batch, m.Model, m.Dataset.Name, m.Dataset.Split, m.Dataset.Digest = attacks[0], attacks[1], attacks[2]+attacks[3], attacks[4], attacks[e]
		m.Config = map[string]any{attacks[3]: map[string]any{attacks[4]: attacks[e+5] + "\n" + attacks[1]}}
		m.Dataset.Instances = nil
		for i := range snap.Records {
			r := &snap.Records[i]
			text := attacks[i%len(attacks)]
			r.InstanceID = strings.NewReplacer("/", "|", "\\", "|", "\x00", "").Replace(text) + string(rune('a'+i/len(attacks)))
			r.Repo, r.Error, r.Blame, r.Model = text, text, text, text
			if r.Grade != nil {
				r.Grade.Why, r.Grade.Error, r.Grade.Suspicious = text, text, []string{text}
			}
			if i%3 == 0 {
				r.Status, r.Outcome = "<b>"+r.Status, "limit"
			}
			if i%4 == 0 {
				r.Resolved, r.Outcome = nil, "infrastructure"
			}
		}
		snap.Notes = attacks
		*a = scores.FromSnapshot(snap)
	}
	return d
}

func hostileText(t *testing.T, b *tab) {
	b.open(hostileData(), 1280, 900, "light")
	for _, head := range []int{0, 1, 3} {
		b.click("#table thead tr:nth-child(2) th:nth-child(" + string(rune('1'+head)) + ") button")
	}
	b.click("#text")
	b.press("<script>")
	got := js[struct {
		Hacked                     string
		Scripts, Foreign, Handlers int
		Protocols                  []string
		Rows                       int
		Text                       string
	}](b, `({
	  Hacked: String(window.hacked), Scripts: document.scripts.length,
	  Foreign: document.querySelectorAll("img, iframe, base, link, object, embed, b, meta[http-equiv=refresh], style:not(head style)").length,
	  Handlers: [...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => a.name.startsWith("on") || a.name === "style")).length,
	  Protocols: [...new Set([...document.links].map(a => a.protocol))],
	  Rows: document.querySelectorAll("#table tbody tr:not([hidden])").length,
	  Text: document.body.innerText,
	})`)
	if got.Hacked != "undefined" || got.Scripts != 1 || got.Foreign > 0 || got.Handlers > 0 {
		t.Errorf("a text became a part of the page: %+v", got)
	}
	if len(got.Protocols) != 1 || got.Protocols[0] != "file:" {
		t.Errorf("links have the protocols %q", got.Protocols)
	}
	if got.Rows == 0 {
		t.Error("no instance is called <script>, as it should be")
	}
	for _, want := range []string{"<script>hacked=1</script>", `"><img src=x onerror=hacked=2>`, `\u202e`} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the page does not show %q as it is", want)
		}
	}
	if strings.ContainsAny(got.Text, "\u202e\u2028\x1b") {
		t.Error("the page contains characters that change the text around them")
	}
}

// links leads to files with hostile names.
func links(t *testing.T, b *tab) {
	root := t.TempDir()
	b.dir = filepath.Join(root, "out #1", "x%41")
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d := invented(len(attacks), 1, 1)
	snap := d.Entries[0].Runs[0].Snapshot
	snap.Dir = filepath.Join(root, `runs ?a=b&c#d%20"e'<f>:é`)
	names := append([]string{"http:", "javascript:x", "a b", "50%", "%2e%2e", "?q#f", "...", "ünïcode", "back`tick", "semi;colon"}, "x\xffy")
	for i := range snap.Records {
		snap.Records[i].InstanceID = names[i]
	}
	snap.Manifest.Dataset.Instances = nil
	want := map[string]bool{}
	for _, r := range snap.Records {
		path := results.TrajectoryPath(snap.Dir, r.InstanceID)
		if !r.Outcome.Final() || strings.HasPrefix(r.InstanceID, ".") { // not an id
			continue
		}
		want[path] = true
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.Entries[0].Runs[0] = scores.FromSnapshot(snap)
	d.Folder = func(path string) string {
		relative, err := filepath.Rel(b.dir, path)
		if err != nil {
			t.Fatal(err)
		}
		return relative
	}
	file := &url.URL{Scheme: "file", Path: filepath.Join(b.dir, "report.html")}
	if err := os.WriteFile(file.Path, []byte(written(t, d)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(file.String()))
	for _, href := range js[[]string](b, `[...document.querySelectorAll("#table a")].map(a => a.href)`) {
		u, err := url.Parse(href)
		if err != nil || u.Scheme != "file" || u.RawQuery != "" || u.Fragment != "" || !want[u.Path] {
			t.Errorf("%s leads to %q, %v", href, u.Path, err)
			continue
		}
		delete(want, u.Path)
	}
	if len(want) > 0 {
		t.Errorf("no link leads to %v", want)
	}
}
