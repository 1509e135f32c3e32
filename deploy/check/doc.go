// Package check proves what cannot be run without a cluster or a container engine: that the manifests of k8s/ build,
// fit the schemas of their kinds and keep the rules of this project, that docker-compose.yml loads, that every variable
// they set exists in docs/config.md, that the network policies allow the edges of the design and no other, that every
// image builds from the files that its recipe copies, that the installation on one server keeps its secrets and comes
// back from its backups, and what of others is shipped under which licence. It holds tests only, beside the packages
// that they share with programs, and is outside the workspace so that Kubernetes' modules never raise a service's
// dependencies.
package check
