package view

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
)

// staticPolicy is the policy of a page that is opened from a disk.
const staticPolicy = "default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src 'self' file: data:; base-uri 'none'; form-action 'none'"

// relinked returns a page of this package with its links replaced by to. If to returns "", the link becomes
// text. Forms and parts that need a server are removed.
func relinked(page []byte, to func(link string) string) ([]byte, error) {
	var out bytes.Buffer
	in := html.NewTokenizer(bytes.NewReader(page))
	left := "" // the element that is being removed
	for {
		kind := in.Next()
		if kind == html.ErrorToken {
			if err := in.Err(); !errors.Is(err, io.EOF) {
				return nil, err
			}
			return out.Bytes(), nil
		}
		raw := bytes.Clone(in.Raw())
		token := in.Token()
		switch {
		case left != "":
			if kind == html.EndTagToken && token.Data == left {
				left = ""
			}
		case kind == html.StartTagToken && (token.Data == "form" || token.Data == "noscript"):
			left = token.Data
		case kind == html.StartTagToken || kind == html.SelfClosingTagToken:
			if relink(&token, to) {
				out.WriteString(token.String())
			} else {
				out.Write(raw)
			}
			if token.Data == "head" {
				out.WriteString(`<meta http-equiv="Content-Security-Policy" content="` + html.EscapeString(staticPolicy) + `">`)
			}
		default:
			out.Write(raw)
		}
	}
}

// relink replaces the links of an element, and reports whether it had any.
func relink(t *html.Token, to func(string) string) (changed bool) {
	var kept []html.Attribute
	for _, a := range t.Attr {
		switch a.Key {
		case "href", "src":
			if strings.HasPrefix(a.Val, "data:") {
				break
			}
			changed = true
			if a.Val = to(a.Val); a.Val == "" {
				continue
			}
		case "data-live", "data-grows", "data-stream":
			changed = true
			continue
		}
		kept = append(kept, a)
	}
	t.Attr = kept
	return changed
}
