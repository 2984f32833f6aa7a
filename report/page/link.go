package page

import (
	"net/url"
	"path/filepath"
	"strings"

	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// link returns the URL of an attempt's trajectory at an instance, relative to the page, or "" if
// there is none. Each name is percent-encoded, and the URL begins with ./ or ../, so that no name
// can be taken for a scheme, a query or another folder.
func (s study) link(e side, attempt int, id string) string {
	if s.folder == nil || e.last[attempt] == nil || vocab.CheckID(id) != nil {
		return ""
	}
	folder := s.folder(e.Runs[attempt].Path)
	r, ok := e.last[attempt][id]
	if folder == "" || filepath.IsAbs(folder) || !ok || !r.Measured() || r.Outcome == vocab.OutcomePending {
		return ""
	}
	parts := strings.Split(filepath.ToSlash(results.TrajectoryPath(folder, id)), "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	if parts[0] != ".." {
		return "./" + strings.Join(parts, "/")
	}
	return strings.Join(parts, "/")
}

// firstLink returns the link of the first attempt that has one.
func (s study) firstLink(e side, id string) string {
	for i := range e.Runs {
		if l := s.link(e, i, id); l != "" {
			return l
		}
	}
	return ""
}
