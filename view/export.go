package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/printable"
	"batch.example/batch/journal"
	"batch.example/batch/results/trajectory"
)

// Export writes the pages of all runs, with their JSON twins, into the folder dir, which must be new or
// empty. Its index.html can be opened from a disk, and any web server can serve the folder. A page of a
// trajectory has all steps. Each is called with the number of pages so far. A page that cannot be made says
// why, and Export returns an Instance fault with the number of such pages. After any other error the folder
// is incomplete. Unless unmasked is set, an attempt that was never searched for secrets (see [journal.Shown])
// is a Usage fault, before any file is written.
func (s *Server) Export(ctx context.Context, dir string, unmasked bool, each func(pages int)) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Usage, "exporting", err)
	}
	if len(entries) > 0 {
		return fault.Newf(fault.Usage, "%s is not empty", dir).WithHint("name a new folder for the pages")
	}
	if !unmasked {
		if err := s.allMasked(); err != nil {
			return err
		}
	}
	x := &exporter{Server: s, ctx: ctx, dir: dir, mux: s.mux(), files: map[string]string{}, each: each}
	if err := x.plan(); err != nil {
		return err
	}
	for _, page := range x.pages {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.write(page); err != nil {
			return err
		}
	}
	for _, name := range assets {
		text, err := files.ReadFile("pages/" + name)
		if err == nil {
			err = x.put("assets/"+name, text)
		}
		if err != nil {
			return err
		}
	}
	if len(x.failures) > 0 {
		return fault.Newf(fault.Instance, "%s not be made, such as %s", printable.Count(len(x.failures), "page could", "pages could"), x.failures[0]).
			WithHint("all others are written; such a page says why")
	}
	return nil
}

// allMasked refuses attempts of an older batch that have no masked copy.
func (s *Server) allMasked() error {
	all, err := s.runStates()
	if err != nil {
		return err
	}
	for _, st := range all {
		for _, id := range st.ids {
			o := &opened{id: id, number: -1}
			if s.openIn(o, st.Name) != nil {
				continue // it has no trajectory
			}
			if slices.ContainsFunc(o.view.Attempts, func(a journal.AttemptState) bool { return a.Unmasked }) {
				return fault.Newf(fault.Usage, "an older batch made an attempt at %s in %s, and kept no copy without secrets", id, st.Name).
					WithHint("to export it with only the secrets of this process hidden, give --unmasked")
			}
		}
	}
	return nil
}

// assets are the files that pages refer to.
var assets = []string{"view.css", "view.js", "icon.svg"}

// exporter writes pages into a folder.
type exporter struct {
	*Server
	ctx   context.Context //nolint:containedctx // it lives as long as one call
	dir   string
	mux   http.Handler
	pages []string          // addresses of pages, in order
	files map[string]string // file of a page by its address, relative to the folder, with slashes
	done  int
	each  func(int)

	failures []string // the addresses of pages and outputs that could not be made
}

// plan lists the pages and their files.
func (x *exporter) plan() error {
	all, err := x.runStates()
	if err != nil {
		return err
	}
	x.page("/", "index.html")
	x.page("/report", "report.html")
	for _, name := range assets {
		x.files["/assets/"+name] = "assets/" + name
	}
	folders := map[string]bool{}
	for _, st := range all {
		folder := folderOf(st.Name, folders)
		for _, id := range st.ids {
			o := &opened{id: id, number: -1}
			if x.openIn(o, st.Name) != nil {
				continue // it has no trajectory
			}
			x.page(instanceLink(id), "instance/"+id+".html")
			if err := x.attempt(o, "run/"+folder+"/"+id); err != nil {
				return err
			}
		}
	}
	return nil
}

// attempt plans the pages of the attempts at an instance, and writes their shortened outputs.
func (x *exporter) attempt(o *opened, base string) error {
	link := attemptLink(o.run.Name, o.id)
	x.pagesOf(link, "", base)
	if err := errors.Join(x.outputs(o, link, base), x.testLog(o, link+"/log", base+".log.txt")); err != nil {
		return err
	}
	for _, a := range o.view.Attempts {
		numbered := base
		if a.Number != o.view.Attempt {
			numbered = fmt.Sprintf("%s.attempt-%d", base, a.Number)
			earlier := &opened{id: o.id, number: a.Number}
			if x.openIn(earlier, o.run.Name) == nil { // otherwise its page says why
				if err := errors.Join(x.outputs(earlier, link, numbered), x.testLog(earlier, fmt.Sprintf("%s/log?attempt=%d", link, a.Number), numbered+".log.txt")); err != nil {
					return err
				}
			}
		}
		x.pagesOf(link, "attempt="+strconv.Itoa(a.Number), numbered)
	}
	return nil
}

// pagesOf plans the pages of one attempt.
func (x *exporter) pagesOf(link, query, base string) {
	for _, kind := range []string{"", "patch", "tests", "audit"} {
		address, file := link, base+".html"
		if kind != "" {
			address, file = link+"/"+kind, base+"."+kind+".html"
		}
		x.page(key(address, query), file)
	}
}

func key(address, query string) string {
	if query == "" {
		return address
	}
	return address + "?" + query
}

// page plans a page, unless its file is planned for another address.
func (x *exporter) page(address, file string) {
	if _, known := x.files[address]; known {
		return
	}
	for _, there := range x.pages {
		if x.files[there] == file {
			x.files[address] = file
			return
		}
	}
	x.files[address] = file
	x.pages = append(x.pages, address)
}

var unsafeName = lazy.Regexp(`[^A-Za-z0-9._@-]+`)

// folderOf returns a run's folder name, which no other run has.
func folderOf(name string, taken map[string]bool) string {
	base := strings.Trim(unsafeName().ReplaceAllString(name, "-"), "-.")
	if base == "" {
		base = "run"
	}
	folder := base
	for n := 2; taken[strings.ToLower(folder)]; n++ { // a file system may ignore case
		folder = fmt.Sprintf("%s-%d", base, n)
	}
	taken[strings.ToLower(folder)] = true
	return folder
}

// outputs writes the outputs that the page of an attempt shortens.
func (x *exporter) outputs(o *opened, link, base string) error {
	page, err := o.attempt.Page(1, len(o.view.Marks), trajectory.Options{})
	if err != nil { // the attempt's page says why
		return nil //nolint:nilerr // see above
	}
	attempt := ""
	if o.view.Attempt > 0 {
		attempt = strconv.Itoa(o.view.Attempt)
	}
	for _, st := range page.Steps {
		for _, a := range st.Actions {
			if a.Clipped == 0 {
				continue
			}
			address := outputKey(link+"/output", attempt, strconv.Itoa(st.Number), strconv.Itoa(a.Number))
			out, err := o.attempt.Output(st.Number, a.Number)
			if err != nil {
				x.failures = append(x.failures, fmt.Sprintf("%s: %v", address, err))
				continue
			}
			file := fmt.Sprintf("%s.output-%d-%d.txt", base, st.Number, a.Number)
			if err := x.put(file, out.Bytes); err != nil {
				return err
			}
			x.files[address] = file
		}
	}
	return nil
}

// testLog writes the log of an attempt's tests.
func (x *exporter) testLog(o *opened, address, file string) error {
	log, err := o.openLog()
	if err != nil { // the page of the tests says why
		return nil //nolint:nilerr // see above
	}
	defer log.Close()
	var text bytes.Buffer
	if err := o.copyLog(&text, log); err != nil {
		return fault.New(fault.Host, "reading the log of the tests", err)
	}
	x.files[address] = file
	return x.put(file, text.Bytes())
}

func outputKey(address, attempt, step, action string) string {
	return fmt.Sprintf("%s?attempt=%s&step=%s&action=%s", address, attempt, step, action)
}

// put writes a file.
func (x *exporter) put(name string, data []byte) error {
	to := filepath.Join(x.dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(to), 0o755)
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	return atomicfile.Fault("writing "+to, err)
}

// write writes a page and its JSON.
func (x *exporter) write(address string) error {
	file := x.files[address]
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	html, code, err := x.get(address + separator + "all=1")
	if err != nil {
		return err
	}
	if code >= http.StatusMultipleChoices {
		x.failures = append(x.failures, file)
	}
	twin, _, err := x.get(address + separator + "all=1&format=json")
	if err != nil {
		return err
	}
	if !json.Valid(twin) {
		return fault.Newf(fault.Bug, "the JSON of %s is not valid", address)
	}
	data := strings.TrimSuffix(file, ".html") + ".json"
	html, err = relinked(html, func(link string) string { return x.target(link, file, data) })
	if err != nil {
		return fault.New(fault.Bug, "changing the links of "+address, err)
	}
	if err := errors.Join(x.put(file, html), x.put(data, twin)); err != nil {
		return err
	}
	if x.done++; x.each != nil {
		x.each(x.done)
	}
	return nil
}

// get requests a page from this server; the page may be about an error.
func (x *exporter) get(address string) (text []byte, code int, err error) {
	r, err := http.NewRequestWithContext(x.ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, 0, fault.New(fault.Bug, "exporting", err)
	}
	w := &memoryWriter{header: http.Header{}}
	x.mux.ServeHTTP(w, r)
	return w.body.Bytes(), w.code, nil
}

// target returns the file of a link in the page file, relative to that page; "" if it is not exported.
func (x *exporter) target(link, file, data string) string {
	u, err := url.Parse(link)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return ""
	}
	q := u.Query()
	to := ""
	switch {
	case link != "" && link[0] == '#':
		return link
	case q.Get("format") == "json":
		to = data
	case u.Path == "": // another step of the same page
		to = file
	case strings.HasSuffix(u.Path, "/output"):
		to = x.files[outputKey(u.EscapedPath(), q.Get("attempt"), q.Get("step"), q.Get("action"))]
	default:
		attempt := ""
		if n := q.Get("attempt"); n != "" {
			attempt = "attempt=" + n
		}
		to = x.files[key(u.EscapedPath(), attempt)]
	}
	if to == "" {
		return ""
	}
	rel := strings.Repeat("../", strings.Count(file, "/")) + to
	if path.Dir(to) == path.Dir(file) {
		rel = path.Base(to)
	}
	out := url.URL{Path: rel, Fragment: u.Fragment}
	if u.Fragment == "" && q.Get("step") != "" && strings.HasSuffix(to, ".html") {
		out.Fragment = "step-" + q.Get("step")
	}
	return "./" + out.EscapedPath() + fragment(out)
}

func fragment(u url.URL) string {
	if u.Fragment == "" {
		return ""
	}
	return "#" + u.EscapedFragment()
}

// memoryWriter is an [http.ResponseWriter] into memory.
type memoryWriter struct {
	header http.Header
	body   bytes.Buffer
	code   int
}

// Header implements [http.ResponseWriter].
func (w *memoryWriter) Header() http.Header { return w.header }

// Write implements [http.ResponseWriter].
func (w *memoryWriter) Write(p []byte) (int, error) { return w.body.Write(p) }

// WriteHeader implements [http.ResponseWriter].
func (w *memoryWriter) WriteHeader(code int) { w.code = code }
