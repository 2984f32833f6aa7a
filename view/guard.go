package view

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// cookieOf returns the name of the cookie that replaces the token of the link. The name has the port, because
// browsers send a cookie to all ports of a host, where other servers may be.
func cookieOf(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "batch-view-" + port
}

// policy is the Content-Security-Policy of all answers.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard passes on only requests from a person or program that has the token.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // without a referrer, forms send no origin
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !slices.Contains(s.c.Hosts, strings.ToLower(r.Host)):
			http.Error(w, "this server is not known by this name: open the link that it printed", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && s.c.Control == nil:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "these pages can only be read: `batch view --control` has forms", http.StatusMethodNotAllowed)
		case !s.sameSite(r) || r.Method == http.MethodPost && !own(r):
			http.Error(w, "a page of another site may not read this", http.StatusForbidden)
		case r.URL.Query().Has("token"):
			s.admit(w, r)
		case !s.admitted(r):
			http.Error(w, "open the link that `batch view` printed: it has the token", http.StatusForbidden)
		default:
			timed := &timedWriter{ResponseWriter: w, control: http.NewResponseController(w)}
			if r.Method != http.MethodPost { // no body to wait for; a deadline would end the request's context
				_ = timed.control.SetReadDeadline(time.Time{})
			}
			next.ServeHTTP(timed, r)
		}
	})
}

// sameSite reports whether a request comes from a page of this server, from a person, or from a program. A
// link on another site may lead here; requests of that site's pages have no cookie.
func (s *Server) sameSite(r *http.Request) bool {
	if from := r.Header.Get("Origin"); from != "" {
		u, err := url.Parse(from)
		return err == nil && strings.EqualFold(u.Host, r.Host) && (u.Scheme == "https") == s.c.Secure
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || site == "none" || r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// own reports whether a form comes from a page of this server, or from a program with a bearer token.
func own(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") == "same-origin" || r.Header.Get("Authorization") != ""
}

// admit replaces the token of a link by a cookie, and redirects to the address without the token.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if !s.isToken(q.Get("token")) {
		http.Error(w, "this token is not valid any more: open the link that `batch view` printed", http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieOf(r), Value: s.c.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.c.Secure})
	q.Del("token")
	to := "/" + strings.TrimLeft(r.URL.EscapedPath(), "/") // never //HOST
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// admitted reports whether a request has the token, in its cookie or as a bearer token.
func (s *Server) admitted(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return s.isToken(token)
	}
	return slices.ContainsFunc(r.CookiesNamed(cookieOf(r)), func(c *http.Cookie) bool { return s.isToken(c.Value) })
}

// isToken compares in constant time, even for texts of different lengths.
func (s *Server) isToken(text string) bool {
	a, b := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(s.c.Token))
	return s.c.Token != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// writeLimit is the maximum time for a reader to read one piece of an answer.
const writeLimit = 30 * time.Second

// timedWriter limits the time for reading each piece of an answer.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write implements [io.Writer].
func (t *timedWriter) Write(p []byte) (int, error) {
	_ = t.control.SetWriteDeadline(time.Now().Add(writeLimit)) // a test's recorder has none
	return t.ResponseWriter.Write(p)
}

// Unwrap lets [http.ResponseController] reach the underlying writer.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }
