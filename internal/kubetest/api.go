package kubetest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// Ask sends a request to the API server as the administrator. The body may be nil.
func Ask(t testing.TB, method, path string, body any) (status int, answer []byte) {
	t.Helper()
	cluster := dir(t)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(cluster, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(method, "https://"+read("node")+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	name, value, _ := strings.Cut(read("pki/header"), ": ")
	req.Header.Set(name, value)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(read("pki/ca.crt")))
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// Shown returns the object of a kind that the page `batch help kubernetes` shows, in a namespace.
func Shown(t testing.TB, kind, namespace string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(Script(t)), "..", "kube", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks strings.Builder
	for line := range strings.Lines(string(text)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			blocks.WriteString(code)
		} else {
			blocks.WriteString("---\n")
		}
	}
	for docs := yaml.NewDecoder(strings.NewReader(blocks.String())); ; {
		var node yaml.Node
		if err := docs.Decode(&node); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		var obj map[string]any
		if node.Decode(&obj) == nil && obj["kind"] == kind {
			obj["metadata"].(map[string]any)["namespace"] = namespace
			return obj
		}
	}
	t.Fatalf("the page shows no %s", kind)
	return nil
}
