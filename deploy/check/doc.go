// Package check proves what cannot be run without a cluster or a container engine: that the manifests of k8s/ build, decode
// strictly and keep the rules of this project, that docker-compose.yml loads, that every variable they set exists in
// docs/config.md, that the network policies allow the edges of the design and no other, that every image builds from the files
// that its recipe copies, and what of others is shipped under which licence. Beside recipe and supply it holds tests only, and stands
// outside the workspace so that Kubernetes' modules never raise a service's dependencies.
package check
