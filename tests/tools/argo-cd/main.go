// Command argo-cd runs parts of Argo CD as they are released, each of them in a process: the application controller, the
// repository server, and a Redis in memory that both need. Without an argument it computes the health of objects. See
// tests/apiserver/gitops/argocd/.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/health"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// question is a script in Lua and the object that it checks.
type question struct {
	Script string                    `json:"script"`
	Object unstructured.Unstructured `json:"object"`
}

// verdict is the health of the object.
type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return judge(os.Stdin, os.Stdout)
	}
	name, arguments := arguments[0], arguments[1:]
	switch name {
	case "application-controller":
		return execute(controller.NewCommand(), arguments)
	case "repo-server":
		return execute(reposerver.NewCommand(), arguments)
	case "redis":
		return serveRedis(arguments[0])
	default:
		return fmt.Errorf("no part of Argo CD: %q", name)
	}
}

// execute runs a command of Argo CD.
func execute(command *cobra.Command, arguments []string) error {
	command.SetArgs(arguments)
	return command.Execute()
}

// serveRedis serves an empty Redis at an address until the process ends.
func serveRedis(address string) error {
	if err := miniredis.NewMiniRedis().StartAddr(address); err != nil {
		return err
	}
	select {}
}

// judge reads questions from input, and writes the verdicts to output in the same order.
func judge(input io.Reader, output io.Writer) error {
	var questions []question
	if err := json.NewDecoder(input).Decode(&questions); err != nil {
		return err
	}
	verdicts := make([]verdict, 0, len(questions))
	for _, question := range questions {
		kind := question.Object.GroupVersionKind()
		checks := lua.ResourceHealthOverrides{
			kind.Group + "/" + kind.Kind: v1alpha1.ResourceOverride{HealthLua: question.Script},
		}
		status, err := health.GetResourceHealth(&question.Object, checks)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, verdict{Status: string(status.Status), Message: status.Message})
	}
	return json.NewEncoder(output).Encode(verdicts)
}
