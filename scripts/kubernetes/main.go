// Kubernetes is the four programs of a one-node Kubernetes cluster in one file: the name by which
// it is started says which one it is. It is a module of its own, so that the project does
// not depend on Kubernetes' servers. Only scripts/kube builds and starts it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var programs = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

func main() {
	command, ok := programs[filepath.Base(os.Args[0])]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s is not the name of one of Kubernetes' programs\n", os.Args[0])
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
