package registrytest

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// User and Password are what a registry with a password asks for.
const (
	User     = "ann"
	Password = "s3cret:x"
	htpasswd = User + ":$2a$04$OJJOOh9/ijcSSrkBADFUau3WLZGR0EBV6j6rXPHGe08auJue1qvam\n"
)

// Registry is a docker-registry behind a proxy that can go wrong.
type Registry struct {
	fault  atomic.Pointer[Fault]
	direct string // address of the registry itself
	login  bool
	server *httptest.Server
}

// Start runs a registry that ends with the test, which is skipped where
// docker-registry is not installed. With login it asks for [User] and [Password].
func Start(t testing.TB, login bool) *Registry {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("docker-registry is not installed: run scripts/ensure-extras as root, or apt-get install docker-registry")
	}
	r := &Registry{login: login, direct: run(t, program, login)}
	proxy := &httputil.ReverseProxy{
		// The host stays that of the proxy, so that redirects lead back to it.
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: r.direct})
			p.Out.Host = p.In.Host
		},
	}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if f := r.fault.Load(); f == nil || !(*f)(w, q) {
			proxy.ServeHTTP(w, q)
		}
	}))
	t.Cleanup(r.server.Close)
	return r
}

// run starts the program and returns where it listens.
func run(t testing.TB, program string, login bool) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s\n"+
		"http:\n  addr: 127.0.0.1:0\n  relativeurls: true\n", filepath.Join(dir, "data"))
	if login {
		write(t, filepath.Join(dir, "htpasswd"), htpasswd)
		config += fmt.Sprintf("auth:\n  htpasswd:\n    realm: test\n    path: %s\n", filepath.Join(dir, "htpasswd"))
	}
	write(t, filepath.Join(dir, "config.yml"), config)
	cmd := exec.Command(program, "serve", filepath.Join(dir, "config.yml"))
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		follow(log, listening)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		<-read
		_ = cmd.Wait()
	})
	addr, ok := <-listening
	if !ok {
		t.Fatal("docker-registry ended before it listened")
	}
	return addr
}

// follow reads the registry's log to its end and tells where it listens.
func follow(log io.Reader, listening chan<- string) {
	defer close(listening)
	at := regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)
	told := false
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if m := at.FindStringSubmatch(lines.Text()); m != nil && !told {
			told = true
			listening <- m[1]
		}
	}
}

// Host is the proxy's address as it stands in an image's name.
func (r *Registry) Host() string { return strings.TrimPrefix(r.server.URL, "http://") }

// Break makes f see each request first; nil mends it.
func (r *Registry) Break(f Fault) {
	if f == nil {
		r.fault.Store(nil)
		return
	}
	r.fault.Store(&f)
}

// Requests returns how many requests f answers while pull runs. Engines ask for
// headers first, or again and again, before they give a pull up.
func (r *Registry) Requests(f Fault, pull func()) int64 {
	var n atomic.Int64
	r.Break(func(w http.ResponseWriter, q *http.Request) bool {
		if !f(w, q) {
			return false
		}
		n.Add(1)
		return true
	})
	defer r.Break(nil)
	pull()
	return n.Load()
}

// Push stores the image under name, such as team/thing:1, past the proxy, and
// returns its full name.
func (r *Registry) Push(t testing.TB, name string, img *Image) string {
	t.Helper()
	repo, tag, _ := strings.Cut(name, ":")
	for _, l := range img.Layers {
		r.upload(t, repo, l.Packed)
	}
	r.upload(t, repo, img.Config)
	r.send(t, http.MethodPut, "/v2/"+repo+"/manifests/"+tag, img.Type, img.Manifest)
	return r.Host() + "/" + name
}

func (r *Registry) upload(t testing.TB, repo string, data []byte) {
	t.Helper()
	at := r.send(t, http.MethodPost, "/v2/"+repo+"/blobs/uploads/", "", nil)
	r.send(t, http.MethodPut, at+"&digest="+url.QueryEscape(Digest(data)), "application/octet-stream", data)
}

// send makes one request of a push and returns the Location of the answer.
func (r *Registry) send(t testing.TB, method, path, kind string, data []byte) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.direct+path, strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		q.Header.Set("Content-Type", kind)
	}
	if r.login {
		q.SetBasicAuth(User, Password)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s\n%s", method, path, resp.Status, text)
	}
	return resp.Header.Get("Location")
}

// Login makes a directory with a docker config.json that has a user's login
// for the registry at host, and returns it.
func Login(t testing.TB, host, user, password string) string {
	t.Helper()
	dir := t.TempDir()
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	write(t, filepath.Join(dir, "config.json"), fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, auth))
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
