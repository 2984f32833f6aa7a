package view_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/control"
	"batch.example/batch/view"
)

// request makes a program's request with the token; header has names and values in turn, and the value "-"
// removes a header.
func (s *site) request(t testing.TB, method, target, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	u, err := url.Parse("http://" + s.config.Hosts[0] + target)
	must(t, err)
	r := httptest.NewRequestWithContext(t.Context(), method, "/", strings.NewReader(body))
	r.URL, r.Host, r.RequestURI = &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}, s.config.Hosts[0], target
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		switch name, value := header[i], header[i+1]; {
		case name == "Host":
			r.Host = value
		case value == "-":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// oneRun serves a run twice, without and with forms.
func oneRun(t testing.TB) (reads, steers *site, run string) {
	t.Helper()
	dir := t.TempDir()
	run = filepath.Join(dir, "a")
	must(t, writeRun(t, run, instances, 12, usual).Close())
	reads = serve(t, dir, usual, nil)
	steers = serve(t, dir, usual, func(c *view.Config) {
		c.Control = func(control.Verb, []string) ([]control.Command, error) {
			return nil, fault.Newf(fault.Usage, "the verb was read")
		}
	})
	return reads, steers, run
}

func TestWhoMayRead(t *testing.T) {
	s, steers, run := oneRun(t)
	host := s.config.Hosts[0]
	cookie := "batch-view-" + host[strings.LastIndex(host, ":")+1:] + "="
	page := "/run/" + url.PathEscape(run) + "/" + instances[0]
	for name, c := range map[string]struct {
		method, target string
		header         []string
		want           int
	}{
		"a bearer":                          {"GET", "/", nil, 200},
		"HEAD":                              {"HEAD", "/", nil, 200},
		"no token":                          {"GET", "/", []string{"Authorization", "-"}, 403},
		"no token, an asset":                {"GET", "/assets/view.js", []string{"Authorization", "-"}, 403},
		"no token, events":                  {"GET", "/live/events", []string{"Authorization", "-"}, 403},
		"no token, an output":               {"GET", page + "/output?step=1&action=1", []string{"Authorization", "-"}, 403},
		"a wrong bearer":                    {"GET", "/", []string{"Authorization", "Bearer " + token + "x"}, 403},
		"an empty bearer":                   {"GET", "/", []string{"Authorization", "Bearer "}, 403},
		"another scheme":                    {"GET", "/", []string{"Authorization", "Basic " + token}, 403},
		"the cookie":                        {"GET", "/", []string{"Authorization", "-", "Cookie", cookie + token}, 200},
		"a second cookie of the same name":  {"GET", "/", []string{"Authorization", "-", "Cookie", cookie + "x; " + cookie + token}, 200},
		"a wrong cookie":                    {"GET", "/", []string{"Authorization", "-", "Cookie", cookie + "x"}, 403},
		"an empty cookie":                   {"GET", "/", []string{"Authorization", "-", "Cookie", cookie}, 403},
		"the cookie of another port":        {"GET", "/", []string{"Authorization", "-", "Cookie", "batch-view-1=" + token}, 403},
		"a wrong bearer with the cookie":    {"GET", "/", []string{"Authorization", "Bearer x", "Cookie", cookie + token}, 403},
		"the link":                          {"GET", "/?token=" + token, []string{"Authorization", "-"}, 303},
		"a wrong link":                      {"GET", "/?token=x", []string{"Authorization", "-"}, 403},
		"an empty link":                     {"GET", "/?token=", []string{"Authorization", "-"}, 403},
		"a wrong link with a bearer":        {"GET", "/?token=x", nil, 403},
		"a foreign name for this address":   {"GET", "/", []string{"Host", "evil.example:" + host[strings.LastIndex(host, ":")+1:]}, 421},
		"another port":                      {"GET", "/", []string{"Host", "127.0.0.1:1"}, 421},
		"no host":                           {"GET", "/", []string{"Host", ""}, 421},
		"the link with a foreign name":      {"GET", "/?token=" + token, []string{"Authorization", "-", "Host", "evil.example"}, 421},
		"an own origin":                     {"GET", "/", []string{"Origin", "http://" + host}, 200},
		"an own origin with another scheme": {"GET", "/", []string{"Origin", "https://" + host}, 403},
		"a foreign origin":                  {"GET", "/", []string{"Origin", "http://evil.example"}, 403},
		"the origin null":                   {"GET", "/", []string{"Origin", "null"}, 403},
		"an origin that is not an address":  {"GET", "/", []string{"Origin", "http://[::1"}, 403},
		"another port's origin":             {"GET", "/", []string{"Origin", "http://127.0.0.1:1"}, 403},
		"a foreign page's script":           {"GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		"another port's script":             {"GET", "/", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, 403},
		"a link on a foreign page":          {"GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		"an own script":                     {"GET", "/live/events", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, 403},
		"a form without forms":              {"POST", "/control", nil, 405},
		"PUT":                               {"PUT", "/", nil, 405},
		"DELETE":                            {"DELETE", page, nil, 405},
		"OPTIONS":                           {"OPTIONS", "/", nil, 405},
		"TRACE":                             {"TRACE", "/", nil, 405},
		"CONNECT":                           {"CONNECT", "/", nil, 405},
	} {
		got := s.request(t, c.method, c.target, "", c.header...)
		if got.Code != c.want {
			t.Errorf("%s: %d, want %d: %s", name, got.Code, c.want, got.Body)
		}
		if got.Code >= 400 && strings.Contains(got.Body.String(), instances[0]) {
			t.Errorf("%s: a refusal shows the runs: %s", name, got.Body)
		}
	}
	form := "verb=pause&work=" + url.QueryEscape(run)
	for name, c := range map[string]struct {
		method, target string
		header         []string
		want           int
	}{
		"an own page":                     {"POST", "/control", []string{"Origin", "http://" + host}, 0},
		"a program":                       {"POST", "/control", nil, 422},
		"the cookie without an origin":    {"POST", "/control", []string{"Authorization", "-", "Cookie", "%"}, 403},
		"the cookie with an own origin":   {"POST", "/control", []string{"Authorization", "-", "Cookie", "%", "Origin", "%"}, 422},
		"the cookie with null":            {"POST", "/control", []string{"Authorization", "-", "Cookie", "%", "Origin", "null"}, 403},
		"the cookie with a foreign page":  {"POST", "/control", []string{"Authorization", "-", "Cookie", "%", "Origin", "http://evil.example"}, 403},
		"a foreign page that navigates":   {"POST", "/control", []string{"Authorization", "-", "Cookie", "%", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		"another port that navigates":     {"POST", "/control", []string{"Authorization", "-", "Cookie", "%", "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate"}, 403},
		"no token":                        {"POST", "/control", []string{"Authorization", "-", "Origin", "%"}, 403},
		"the token of a link with a form": {"POST", "/control?token=" + token, []string{"Authorization", "-", "Origin", "null"}, 403},
		"GET":                             {"GET", "/control", nil, 405},
		"PUT":                             {"PUT", "/control", nil, 405},
		"TRACE":                           {"TRACE", "/", nil, 405},
		"DELETE":                          {"DELETE", "/control", nil, 405},
	} {
		if c.want == 0 { // of the other server
			c.want = 403
		}
		host := steers.config.Hosts[0]
		header := append([]string{}, c.header...)
		for i, v := range header {
			if v == "%" && header[i-1] == "Cookie" {
				header[i] = "batch-view-" + host[strings.LastIndex(host, ":")+1:] + "=" + token
			} else if v == "%" {
				header[i] = "http://" + host
			}
		}
		body := form
		if c.method == "GET" {
			body = ""
		}
		if got := steers.request(t, c.method, c.target, body, header...); got.Code != c.want {
			t.Errorf("with forms, %s: %d, want %d: %s", name, got.Code, c.want, got.Body)
		}
	}
}

// A cookie replaces the token, which stays in no address.
func TestTheLinkBecomesACookie(t *testing.T) {
	s, _, _ := oneRun(t)
	for target, want := range map[string]string{
		"/?token=" + token:                          "/",
		"/search?q=a+b&token=" + token + "&in=x":    "/search?in=x&q=a+b",
		"//evil.example/?token=" + token:            "/evil.example/",
		"///evil.example/?token=" + token:           "/evil.example/",
		"/%2Fevil.example/?token=" + token:          "/%2Fevil.example/",
		"/%5Cevil.example/?token=" + token:          "/%5Cevil.example/",
		"/run/%2Ftmp%2Fa/x?token=" + token:          "/run/%2Ftmp%2Fa/x",
		"/?token=" + token + "&token=" + token:      "/",
		"/%0d%0aSet-Cookie:%20a=b?token=" + token:   "/%0d%0aSet-Cookie:%20a=b",
		"/?token=" + token + "&q=%0d%0aX-Evil:%201": "/?q=%0D%0AX-Evil%3A+1",
	} {
		got := s.request(t, "GET", target, "", "Authorization", "-")
		if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || to != want {
			t.Errorf("%s: %d, to %q, want %q", target, got.Code, to, want)
		}
		if strings.Contains(got.Header().Get("Location"), token) || strings.Contains(got.Body.String(), token) {
			t.Errorf("%s: the token is shown again", target)
		}
		cookies := got.Result().Cookies()
		if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/" || cookies[0].Secure {
			t.Errorf("%s: cookies %v", target, cookies)
		}
	}
	secure := serve(t, s.dir, usual, func(c *view.Config) { c.Secure = true })
	if c := secure.request(t, "GET", "/?token="+token, "").Result().Cookies(); len(c) != 1 || !c[0].Secure {
		t.Errorf("with TLS, the cookie is %v", c)
	}
	none := serve(t, s.dir, usual, func(c *view.Config) { c.Token = "" })
	for _, target := range []string{"/", "/?token="} {
		if got := none.request(t, "GET", target, "", "Authorization", "Bearer "); got.Code != http.StatusForbidden {
			t.Errorf("without a token in the settings, %s: %d", target, got.Code)
		}
	}
}

func TestHeadersOfAllAnswers(t *testing.T) {
	s, _, run := oneRun(t)
	base := "/run/" + url.PathEscape(run) + "/" + instances[0]
	targets := append(pagesOf(run, instances), "/assets/view.css", "/assets/view.js", "/assets/none.js", "/none", "/?token=x", base+"/output?step=1&action=1", base+"/output?step=1&action=1&text=1", base+"/patch?download=1", "/search/events?q=text")
	for _, target := range targets {
		got := s.request(t, "GET", target, "")
		h := got.Header()
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "same-origin"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", target, name, h.Get(name))
			}
		}
		policy := h.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%s: policy %q", target, policy)
		}
		if want := map[bool]string{true: "max-age=60", false: "no-store"}[got.Code == 200 && strings.HasPrefix(target, "/assets/")]; h.Get("Cache-Control") != want {
			t.Errorf("%s: Cache-Control %q", target, h.Get("Cache-Control"))
		}
		if h.Get("Content-Type") == "" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", target, h)
		}
	}
	// An answer with others' bytes is never a page.
	for target, want := range map[string]string{
		base + "/output?step=1&action=1": "application/octet-stream", base + "/output?step=1&action=1&text=1": "text/plain; charset=utf-8",
		base + "/patch?download=1": "application/octet-stream",
	} {
		got := s.request(t, "GET", target, "")
		attached := strings.HasPrefix(got.Header().Get("Content-Disposition"), "attachment;")
		if got.Code != 200 || got.Header().Get("Content-Type") != want || attached == strings.Contains(target, "text=1") || !strings.HasPrefix(got.Header().Get("Content-Security-Policy"), "sandbox;") {
			t.Errorf("%s: %d %v", target, got.Code, got.Header())
		}
	}
}

// No address leads out of the runs; an unknown one gets a page that says so.
func TestUnknownAddresses(t *testing.T) {
	s, steers, run := oneRun(t)
	must(t, os.WriteFile(filepath.Join(s.dir, "passwd"), []byte("root:x:0"), 0o600))
	r, id := "/run/"+url.PathEscape(run), instances[0]
	for target, page := range map[string]bool{ // whether the answer is a page of this package
		"/none": false, "/run": false, "/run/": false, "/instance/": false, "/assets/": false, "/assets/overview.html": false,
		"/assets/..%2f..%2fgo.mod": false, "/assets/view.css%00": false, "/assets/%2e%2e%2fview.go": false, r: false, r + "/": false,
		"/run/none/" + id: true, "/instance/none": true, r + "/none": true, r + "/none/patch": true, r + "/none/events": true,
		r + "/" + id + "?attempt=9": true, r + "/" + id + "?attempt=-1": true, r + "/" + id + "?attempt=x": true, r + "/" + id + "?attempt=99999999999999999999": true,
		r + "/" + id + "/output": true, r + "/" + id + "/output?step=99&action=1": true, r + "/" + id + "/output?step=1&action=9": true,
		r + "/" + id + "/output?step=-1&action=1": true, r + "/" + id + "/output?step=1&action=-1": true, r + "/" + id + "/output?step=0&action=0": true,
		r + "/..%2f..%2fetc%2fpasswd": true, r + "/..%2fpasswd": true, r + "/%2e%2e": true, r + "/.": false, r + "/..%5cpasswd": true, r + "/a%00b": true,
		"/run/..%2f..%2fetc/passwd": true, "/run/" + url.PathEscape(s.dir) + "/passwd": true, "/run/%2Fetc/passwd": true,
		"/instance/..%2f..%2fpasswd": true, "/instance/%2e%2e": true, "/instance/%00": true, r + "/logs": true, r + "/manifest.json": true, r + "/%ff%fe": true,
		r + "/" + strings.Repeat("x", 20_000): true, "/run/" + strings.Repeat("%2e%2e%2f", 5_000) + "/x": true,
	} {
		got := s.request(t, "GET", target, "")
		body := got.Body.String()
		if got.Code != http.StatusNotFound && (page || got.Code/100 != 3) || strings.Contains(body, "root:") {
			t.Errorf("%.80s: %d\n%.300s", target, got.Code, body)
		}
		if page && (!strings.Contains(body, `role="alert"`) || !strings.HasPrefix(got.Header().Get("Content-Type"), "text/html")) {
			t.Errorf("%.80s: it is not a page: %.300s", target, body)
		}
		if page {
			if twin := s.request(t, "GET", twinOf(target), ""); twin.Code != http.StatusNotFound || twin.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%.80s: its twin is %d %.100s", target, twin.Code, twin.Body)
			}
		}
	}
	// The server's mux cleans these addresses, and redirects only to this server.
	for _, target := range []string{"//evil.example/", "/run//x", "/./search", "/x/../search"} {
		if to := s.request(t, "GET", target, "").Header().Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") {
			t.Errorf("%s leads to %q", target, to)
		}
	}
	for form, want := range map[string]int{
		"verb=pause&work=/etc": 422, "verb=pause": 422, "verb=pause&work=" + strings.Repeat("x", 200_000): 422,
		"%zz": 422,
	} {
		if got := steers.request(t, "POST", "/control", form); got.Code != want {
			t.Errorf("%.50s: %d %.200s", form, got.Code, got.Body)
		}
	}
}

// No page, twin, download, event or exported file contains a secret.
func TestSecretsAreHidden(t *testing.T) {
	const secret = "sk-Abc123Def456Ghi789"
	text := func(place string) string {
		switch place {
		case "status", "repo", "worker":
			return usual(place)
		case "output":
			return "a\n" + secret + "\n\x1b[31m" + secret + "\x1b[0m\n"
		}
		return strings.ReplaceAll(usual(place), "/", "-") + " " + secret
	}
	dir := t.TempDir()
	store := writeRun(t, filepath.Join(dir, "a"), instances, 60, text)
	steered(t, filepath.Join(dir, "a"), text)
	s := serve(t, dir, text, func(c *view.Config) {
		c.Mask = mask.New(mask.Secret{Name: "KEY", Value: secret})
		c.Control = func(control.Verb, []string) ([]control.Command, error) {
			return nil, fault.Newf(fault.Usage, "the key is %s", secret)
		}
		c.Row = func(context.Context, *manifest.Manifest, string) (*dataset.Instance, string) {
			return nil, "the key is " + secret
		}
	})
	run := filepath.Join(dir, "a")
	targets := pagesOf(run, instances)
	for _, target := range pagesOf(run, instances) {
		targets = append(targets, twinOf(target))
	}
	base := "/run/" + url.PathEscape(run) + "/"
	for _, id := range instances {
		targets = append(targets, base+id+"/patch?download=1", base+id+"/patch", base+id+"/tests", base+id+"/audit", base+id+"/events?from=0",
			base+id+"/output?step=1&action=1", base+id+"/output?step=2&action=1&text=1")
	}
	for _, q := range []string{"text", "Abc123", "sk-", "KEY"} {
		targets = append(targets, "/search/events?q="+q, "/search?whole=1&q="+q, "/search?format=json&q="+q)
	}
	shown := 0
	for _, target := range targets {
		body := s.request(t, "GET", target, "").Body.String()
		shown += strings.Count(body, mask.Hidden)
		target = strings.ReplaceAll(target, secret, "")
		if at := strings.Index(body, "Abc123Def"); at >= 0 {
			t.Errorf("%s shows the secret: ...%s", target, body[max(0, at-200):min(len(body), at+30)])
		}
	}
	if shown < 500 {
		t.Errorf("%d secrets are hidden: the texts are not shown", shown)
	}
	if body := s.request(t, "POST", "/control", "verb=x").Body.String(); strings.Contains(body, "Abc123Def") {
		t.Errorf("a refusal shows the secret: %s", body)
	}
	must(t, store.Close())
	out := filepath.Join(t.TempDir(), "out")
	must(t, s.Export(t.Context(), out, false, nil))
	must(t, filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		body, err := io.ReadAll(f)
		if strings.Contains(string(body), "Abc123Def") {
			t.Errorf("%s has the secret", path)
		}
		return err
	}))
}
