package hub

import (
	"os"
	"path/filepath"
	"strings"
)

// FromEnv returns the config from huggingface_hub's variables, read with getenv: HF_ENDPOINT,
// HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, XDG_CACHE_HOME. home is the
// user's home folder. Without HF_TOKEN, the token comes from the file that "hf auth login" writes.
func FromEnv(getenv func(string) string, home string) Config {
	hfHome := getenv("HF_HOME")
	if hfHome == "" {
		cache := getenv("XDG_CACHE_HOME")
		if cache == "" {
			cache = filepath.Join(home, ".cache")
		}
		hfHome = filepath.Join(cache, "huggingface")
	}
	c := Config{
		Endpoint: getenv("HF_ENDPOINT"),
		CacheDir: getenv("HF_HUB_CACHE"),
		Token:    clean(getenv("HF_TOKEN")),
		Offline:  isTrue(getenv("HF_HUB_OFFLINE")),
	}
	if c.CacheDir == "" {
		c.CacheDir = filepath.Join(expand(hfHome, home), "hub")
	}
	c.CacheDir = expand(c.CacheDir, home)
	if c.Token == "" {
		file := getenv("HF_TOKEN_PATH")
		if file == "" {
			file = filepath.Join(hfHome, "token")
		}
		data, _ := os.ReadFile(expand(file, home)) // most people have none
		c.Token = clean(string(data))
	}
	return c
}

// clean removes line ends from a file or a careless paste: no header may contain them.
func clean(token string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(token))
}

func expand(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

func isTrue(s string) bool {
	switch strings.ToUpper(s) {
	case "1", "ON", "YES", "TRUE":
		return true
	default:
		return false
	}
}
