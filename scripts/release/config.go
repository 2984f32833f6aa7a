package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"go.yaml.in/yaml/v3"
)

// config is the part of goreleaser's configuration that batch uses.
type config struct {
	Version     int    `yaml:"version"`
	ProjectName string `yaml:"project_name"`
	Before      struct {
		Hooks []string `yaml:"hooks"`
	} `yaml:"before"`
	Builds   []program `yaml:"builds"`
	Archives []struct {
		Formats         []string `yaml:"formats"`
		NameTemplate    string   `yaml:"name_template"`
		WrapInDirectory bool     `yaml:"wrap_in_directory"`
		Files           []file   `yaml:"files"`
	} `yaml:"archives"`
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		Algorithm    string `yaml:"algorithm"`
	} `yaml:"checksum"`
	Snapshot struct {
		VersionTemplate string `yaml:"version_template"`
	} `yaml:"snapshot"`
	Changelog struct {
		Disable bool `yaml:"disable"`
	} `yaml:"changelog"`
}

type program struct {
	ID           string   `yaml:"id"`
	Main         string   `yaml:"main"`
	Binary       string   `yaml:"binary"`
	Goos         []string `yaml:"goos"`
	Goarch       []string `yaml:"goarch"`
	Env          []string `yaml:"env"`
	Flags        []string `yaml:"flags"`
	Ldflags      []string `yaml:"ldflags"`
	ModTimestamp string   `yaml:"mod_timestamp"`
}

// file is a file of an archive: a name, or a name and its destination.
type file struct {
	Src string `yaml:"src"`
	Dst string `yaml:"dst"`
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (f *file) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		f.Src = n.Value
		return nil
	}
	type plain file
	return n.Decode((*plain)(f))
}

func readConfig(name string) (*config, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var c config
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, b := range c.Builds {
		if text := fmt.Sprint(b.Env, b.Flags, b.Ldflags); strings.Contains(text, "{{") {
			return nil, fmt.Errorf("%s: %s: templates are not supported here", name, text)
		}
	}
	if c.Version != 2 || len(c.targets()) == 0 {
		return nil, fmt.Errorf("%s: expected version 2 and at least one target", name)
	}
	return &c, nil
}

// target is one program to build.
type target struct {
	program
	goos, goarch string
}

func (c *config) targets() []target {
	var list []target
	for _, b := range c.Builds {
		for _, goos := range b.Goos {
			for _, goarch := range b.Goarch {
				list = append(list, target{b, goos, goarch})
			}
		}
	}
	return list
}

func (c *config) target(name string) (target, bool) {
	for _, t := range c.targets() {
		if t.goos+"/"+t.goarch == name {
			return t, true
		}
	}
	return target{}, false
}

func (t target) build(out string) error {
	args := append([]string{"build"}, t.Flags...)
	args = append(args, "-ldflags", strings.Join(t.Ldflags, " "), "-o", out, t.Main)
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "GOOS="+t.goos, "GOARCH="+t.goarch)
	c.Env = append(c.Env, t.Env...)
	if err := run(c); err != nil {
		return fmt.Errorf("building for %s/%s: %w", t.goos, t.goarch, err)
	}
	return nil
}

// verify reads what Go recorded in the program.
func (t target) verify(name string) error {
	info, err := buildinfo.ReadFile(name)
	if err != nil {
		return err
	}
	got := map[string]string{}
	for _, s := range info.Settings {
		got[s.Key] = s.Value
	}
	for key, want := range map[string]string{"GOOS": t.goos, "GOARCH": t.goarch, "CGO_ENABLED": "0", "-trimpath": "true"} {
		if got[key] != want {
			return fmt.Errorf("the program has %s=%s, expected %s", key, got[key], want)
		}
	}
	return nil
}
