// Package engines is the table of the engines that batch can use; package engine defines what an
// engine is. To add an engine, write a package for it and add a row here.
package engines

import (
	"context"
	"path/filepath"

	"batch.example/batch/docker"
	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// open returns how to connect to an engine that the environment describes. home is the user's home
// directory.
type open func(getenv func(string) string, home string) engine.Connect

// table maps environment.environment_class to an engine; "" is the default.
var table = map[string]open{"": ofDocker, "docker": ofDocker, "podman": ofDocker}

// Podman serves Docker's API.
func ofDocker(getenv func(string) string, home string) engine.Connect {
	return docker.FromEnv(getenv, home).Open
}

// FromEnv returns how to connect to an engine of a class. It uses the variables of the engine's own
// tools, such as DOCKER_HOST. A class that is not in the table is a Usage fault when connecting.
func FromEnv(class string, getenv func(string) string, home string) engine.Connect {
	if o, ok := table[class]; ok {
		return o(getenv, home)
	}
	return func(context.Context, engine.Options) (engine.Engine, error) {
		return nil, fault.Newf(fault.Usage, "environment.environment_class %s is not supported", class)
	}
}

// CheckPlatform returns a Usage fault if platform is not a platform of containers, such as
// linux/arm64.
func CheckPlatform(platform string) error { return images.CheckPlatform(platform) }

// Logins returns the path of the file with the user's registry logins; "" if there is none.
func Logins(getenv func(string) string, home string) string {
	dir := docker.FromEnv(getenv, home).ConfigDir
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "config.json")
}
