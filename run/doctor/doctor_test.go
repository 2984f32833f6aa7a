package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/dataset/hub"
	"batch.example/batch/docker"
	"batch.example/batch/sandbox/engine"
)

// The user of a rootless engine may lack the controllers of cgroup v2.
func TestDoctorReportsLimitsThatTheEngineLacks(t *testing.T) {
	for _, tt := range []struct {
		info, version string
		state         State
		want          string
	}{
		{`{"MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true,"SwapLimit":true}`, `{}`, Good, "CPUs, memory, swap and processes"},
		{`{"MemoryLimit":true,"PidsLimit":true,"SwapLimit":true}`, `{}`, Warning, "the engine cannot limit CPUs: containers run without"},
		{`{}`, `{}`, Warning, "the engine cannot limit CPUs, memory, processes: containers run without"},
		{`{}`, `{"Components":[{"Name":"Podman Engine"}]}`, Good, "Podman"},
		{ // it ignores limits, and reports that it has them
			`{"CgroupVersion":"1","DockerRootDir":"/home/u/.local/share/containers/storage","MemoryLimit":true,"CpuCfsQuota":true}`,
			`{"Components":[{"Name":"Podman Engine"}]}`, Warning, "the engine cannot limit CPUs, memory, swap, processes: containers run without",
		},
	} {
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("API-Version", "1.41")
			switch {
			case strings.HasSuffix(r.URL.Path, "/info"):
				_, _ = w.Write([]byte(tt.info))
			case strings.HasSuffix(r.URL.Path, "/version"):
				_, _ = w.Write([]byte(tt.version))
			case strings.HasSuffix(r.URL.Path, "/json"):
				_, _ = w.Write([]byte("[]"))
			}
		}))
		defer engine.Close()
		checks := Look(t.Context(), Config{
			Engines: []Engine{{Connect: docker.Config{Host: "tcp://" + engine.Listener.Addr().String()}.Open}}, Hub: hub.Config{Offline: true},
			Dir: t.TempDir(), Getenv: func(string) string { return "" },
		})
		i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == "limits" })
		if i < 0 || checks[i].State != tt.state || !strings.HasPrefix(checks[i].Text, tt.want) {
			t.Errorf("%s: want %s %q in %+v", tt.info, tt.state, tt.want, checks)
		}
	}
}

// A run refuses two addresses of one engine.
func TestDoctorFindsTwoAddressesOfOneEngine(t *testing.T) {
	for _, ids := range [][2]string{{"one", "one"}, {"one", "two"}, {"", ""}} { // Podman has none
		var list []Engine
		for i, id := range ids {
			engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("API-Version", "1.41")
				if strings.HasSuffix(r.URL.Path, "/json") {
					_, _ = w.Write([]byte("[]"))
					return
				}
				_, _ = fmt.Fprintf(w, `{"ID":%q}`, id)
			}))
			defer engine.Close()
			list = append(list, Engine{Address: fmt.Sprint("address", i), Connect: docker.Config{Host: "tcp://" + engine.Listener.Addr().String()}.Open})
		}
		checks := Look(t.Context(), Config{Engines: list, Hub: hub.Config{Offline: true}, Dir: t.TempDir(), Getenv: func(string) string { return "" }})
		said := slices.ContainsFunc(checks, func(c Check) bool { return c.State == Bad && c.Text == "address1: the same one as address0" })
		if want := ids[0] == "one" && ids[1] == "one"; said != want {
			t.Errorf("engines %q: said that they are the same: %t, want %t: %+v", ids, said, want, checks)
		}
	}
}

// The registry is asked through the engine. Its answer is never a failure.
func TestDoctorAsksTheRegistry(t *testing.T) {
	const image = "registry.example/team/thing:1"
	for _, tt := range []struct {
		status      int
		answer      string
		state       State
		text, hint  string
		onTheEngine bool
	}{
		{200, `{"Descriptor":{}}`, Good, "registry.example answers, and has " + image, "", false},
		{0, "", Good, "the engine has " + image, "", true},
		{401, `{"message":"unauthorized: authentication required"}`, Warning, "image " + image + ": ", "log in to its registry: docker login", false},
		{404, `{"message":"manifest unknown: manifest unknown"}`, Warning, "image " + image + ": ", "check the image name", false},
		{500, `{"message":"dial tcp: lookup registry.example: no such host"}`, Warning, "registry.example cannot be asked for images: ", "--image-prefix", false},
	} {
		asked := ""
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("API-Version", "1.41")
			switch {
			case strings.Contains(r.URL.Path, "/distribution/"):
				asked = r.URL.Path
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.answer))
			case strings.Contains(r.URL.Path, "/images/registry.example/") && tt.onTheEngine:
				_, _ = w.Write([]byte(`{"Id":"sha256:0","Os":"linux","Architecture":"amd64"}`))
			case strings.Contains(r.URL.Path, "/images/registry.example/"):
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(`{"message":"No such image"}`))
			case strings.HasSuffix(r.URL.Path, "/info"), strings.HasSuffix(r.URL.Path, "/version"):
				_, _ = w.Write([]byte("{}"))
			case strings.HasSuffix(r.URL.Path, "/json"):
				_, _ = w.Write([]byte("[]"))
			}
		}))
		defer engine.Close()
		checks := Look(t.Context(), Config{
			Engines: []Engine{{Connect: docker.Config{Host: "tcp://" + engine.Listener.Addr().String()}.Open}}, Hub: hub.Config{Offline: true},
			Dir: t.TempDir(), Getenv: func(string) string { return "" }, Image: image,
		})
		i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == "images" })
		if i < 0 || checks[i].State != tt.state || !strings.HasPrefix(checks[i].Text, tt.text) || !strings.Contains(checks[i].Hint, tt.hint) {
			t.Errorf("%d %s: want %s %q (%s) in %+v", tt.status, tt.answer, tt.state, tt.text, tt.hint, checks)
		}
		if (asked != "") == tt.onTheEngine || !tt.onTheEngine && !strings.HasSuffix(asked, "/distribution/"+image+"/json") {
			t.Errorf("the engine was asked for %q", asked)
		}
	}
}

// lacking is an engine that lacks something.
type lacking struct{ engine.Engine }

func (lacking) About(context.Context) (engine.About, error)   { return engine.About{}, nil }
func (lacking) Owned(context.Context) ([]engine.Owned, error) { return nil, nil }
func (lacking) Check(context.Context) []engine.Finding {
	return []engine.Finding{{Name: "rights", Err: errors.New("none")}}
}
func (lacking) Close() error                                                { return nil }
func (lacking) open(context.Context, engine.Options) (engine.Engine, error) { return lacking{}, nil }

// A run uses the engines that answer, but not without what they lack.
func TestOnlyAnAbsentEngineBesideAnotherOneIsAWarning(t *testing.T) {
	there, absent := Engine{Connect: lacking{}.open}, Engine{Connect: docker.Config{Host: "tcp://127.0.0.1:1"}.Open}
	for _, tt := range []struct {
		engines []Engine
		want    map[string]State
	}{
		{[]Engine{there}, map[string]State{"engine": Good, "rights": Bad}},
		{[]Engine{there, absent}, map[string]State{"engine": Warning, "rights": Bad}},
		{[]Engine{absent}, map[string]State{"engine": Bad}},
	} {
		got := map[string]State{}
		for _, c := range Look(t.Context(), Config{Engines: tt.engines, Hub: hub.Config{Offline: true}, Dir: t.TempDir(), Getenv: func(string) string { return "" }}) {
			if c.Name == "engine" || c.Name == "rights" {
				got[c.Name] = c.State // of the last engine
			}
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%d engines: got %v, want %v", len(tt.engines), got, tt.want)
		}
	}
}

// A user of a cluster may not list its nodes: then a number would be made up.
func TestDoctorMakesUpNoRoom(t *testing.T) {
	if c := checkMemory(engine.About{CPUs: 16}); strings.ContainsAny(c.Text, "0123456789") {
		t.Errorf("got %+v", c)
	}
	if c := checkMemory(engine.About{CPUs: 2, Memory: 8 << 30}); c != (Check{"memory", Good, "8GiB, CPUs: 2", ""}) {
		t.Errorf("got %+v", c)
	}
}

// At(1) has a program of the same name in /usr/bin.
func TestDoctorFindsAnotherProgramOfTheSameName(t *testing.T) {
	program := func() (dir, file string) {
		dir = t.TempDir()
		file = filepath.Join(dir, "batch")
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir, file
	}
	ownDir, own := program()
	otherDir, other := program()
	for _, tt := range []struct {
		path string
		want bool
	}{
		{"", false},
		{ownDir + ":" + otherDir, false},
		{t.TempDir() + ":" + otherDir + ":" + ownDir, true},
		{otherDir, true}, // called by its path
	} {
		checks := checkName(tt.path, own)
		if (len(checks) == 1) != tt.want || tt.want && (checks[0].State != Warning || !strings.Contains(checks[0].Text, other) || !strings.Contains(checks[0].Hint, ownDir)) {
			t.Errorf("PATH=%s: %+v, want a warning: %t", tt.path, checks, tt.want)
		}
	}
}
