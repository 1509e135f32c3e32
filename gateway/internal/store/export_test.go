package store

// Statements are all that this package sends.
var Statements = []string{
	bySecretSQL, byPublicSQL, insertKeySQL, insertSecretSQL, insertAuditSQL, revokeSQL, getSQL, listSQL, usedSQL, prepareAuditSQL, insertSignedSQL, findSignedSQL,
	rotateSignedSQL, lockKeySQL, updateKeySQL, forgetSecretsSQL, endOldestSQL, endCurrentSQL,
	actsSQL, actsByActorSQL, actsOfObjectSQL, appendActsSQL, staleKeysSQL, resealSQL, staleAnswersSQL,
}
