package store

// Statements are all that this package sends.
var Statements = []string{
	bySecretSQL, insertKeySQL, insertSecretSQL, insertAuditSQL, revokeSQL, getSQL, listSQL, usedSQL, prepareAuditSQL,
}
