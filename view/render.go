package view

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/run/control"
)

//go:embed pages
var files embed.FS

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(funcs).ParseFS(files, "pages/*.html"))
})

// funcs are the templates' functions. They return texts, never markup.
var funcs = template.FuncMap{
	"dollars": printable.Dollars, "upTo": report.UpTo, "seconds": report.Seconds, "percent": printable.Percent, "count": printable.Count,
	"attempt": attemptLink, "instance": instanceLink,
	"plain": printable.Text, "line": line, "ansi": ansi, "bytes": size, "long": long, "lines": lines, "firstLine": firstLine,
	"newID":   control.NewID,
	"picture": func(i trajectory.Image) template.URL { return template.URL(i.URL()) }, //nolint:gosec // base64 of a type that is only drawn
	"between": func(from, to time.Time) string { return clock(to.Sub(from)) },
	"noticed": func(seconds float64) bool { return seconds >= 0.05 },
	"exitBad": func(code *int) bool { return *code != 0 },
}

func attemptLink(run, id string) string {
	return "/run/" + url.PathEscape(run) + "/" + url.PathEscape(id)
}

func instanceLink(id string) string { return "/instance/" + url.PathEscape(id) }

// line returns a name in one line, without characters that would reverse the text around it.
func line(name any) string { return printable.Line(fmt.Sprint(name)) }

// size returns the size of a text for a person.
func size(text string) string {
	if len(text) < 10_000 {
		return printable.Count(len(text), "byte", "bytes")
	}
	return fmt.Sprintf("%d kB", len(text)/1000)
}

// unfolded is the number of lines of an output that are shown unfolded.
const unfolded = 12

func long(output string) bool {
	return strings.Count(output, "\n") > unfolded || len(output) > 100*unfolded
}

func lines(text string) string {
	return printable.Count(strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1, "line", "lines")
}

func firstLine(text string) string {
	const most = 120
	line, _, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	return printable.Line(cut(line, most))
}

// frame has the parts of a page around its data.
type frame struct {
	Title string
	Twin  string // address of the JSON twin
	Body  any
	Alone *alone // nil: the page is one of several
}

// show answers with the data d as a page, or on request as JSON.
func (s *Server) show(w http.ResponseWriter, r *http.Request, page, title string, d any) {
	var b bytes.Buffer
	if r.URL.Query().Get("format") == "json" {
		enc := json.NewEncoder(&b)
		enc.SetIndent("", "  ")
		if err := enc.Encode(d); err != nil {
			s.fail(w, r, fault.New(fault.Bug, "encoding a page", err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.c.Mask.JSON(b.Bytes())) // the reader has left
		return
	}
	if err := templates().ExecuteTemplate(&b, page, frame{Title: title, Twin: twin(r.URL), Body: d}); err != nil {
		s.fail(w, r, fault.New(fault.Bug, "making a page", err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // the reader has left
}

// hidden returns JSON data without secrets. The writers of a run hide the secrets that they knew; a later
// pattern, or another tool's file, may reveal more.
func hidden[T any](m *mask.Masker, v T) (T, error) {
	var clean T
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(m.JSON(text), &clean)
	}
	if err != nil {
		return clean, fault.New(fault.Bug, "hiding secrets", err)
	}
	return clean, nil
}

// twin returns the address of a page's JSON.
func twin(u *url.URL) string {
	q := u.Query()
	q.Set("format", "json")
	return u.EscapedPath() + "?" + q.Encode()
}

// failure is the data of an error page.
type failure struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

// failed are the headings of error pages.
var failed = map[int]string{
	http.StatusNotFound: "Not found", http.StatusUnprocessableEntity: "Not done", http.StatusInternalServerError: "This page cannot be made",
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusInternalServerError
	switch {
	case r.Method == http.MethodPost && fault.KindOf(err) == fault.Usage:
		code = http.StatusUnprocessableEntity
	case errors.Is(err, fs.ErrNotExist), fault.KindOf(err) == fault.Usage:
		code = http.StatusNotFound
	case fault.Canceled(err):
		return // the reader has left
	default:
		s.c.Log.Error("a page could not be made", "path", r.URL.Path, "err", err)
	}
	d := failure{Error: s.c.Mask.Text(err.Error()), Hint: s.c.Mask.Text(fault.HintOf(err))}
	var b bytes.Buffer
	if r.URL.Query().Get("format") == "json" {
		w.Header().Set("Content-Type", "application/json")
		err = json.NewEncoder(&b).Encode(d)
	} else {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		err = templates().ExecuteTemplate(&b, "failure", frame{Title: failed[code], Twin: twin(r.URL), Body: d})
	}
	if err != nil {
		http.Error(w, "this page cannot be shown", code)
		return
	}
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // the reader has left
}

// asset answers with the style, the script or the icon.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text, err := files.ReadFile(path.Join("pages", name))
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	kind := kinds[path.Ext(name)]
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "max-age=60")
	http.ServeContent(w, r, strings.TrimSpace(name), time.Time{}, bytes.NewReader(text))
}
