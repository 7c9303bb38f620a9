# One private bucket: bin/ has the binary, lab/ what the driver reads, runs/ the
# reports.
resource "aws_s3_bucket" "lab" {
  bucket_prefix = "${var.name}-"
  force_destroy = true # make destroy fetches the reports first
}

resource "aws_s3_bucket_policy" "lab" {
  bucket = aws_s3_bucket.lab.id

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Sid = "OnlyEncrypted", Effect = "Deny", Principal = "*", Action = "s3:*", Resource = [aws_s3_bucket.lab.arn, "${aws_s3_bucket.lab.arn}/*"], Condition = { Bool = { "aws:SecureTransport" = "false" } } }]
  })
}

locals {
  binary        = "${path.module}/build/locklab-${var.architecture}"
  binary_built  = fileexists(local.binary)
  binary_sha256 = local.binary_built ? filesha256(local.binary) : "missing"
  binary_key    = "bin/locklab-${var.architecture}-${substr(local.binary_sha256, 0, 12)}"
}

resource "aws_s3_object" "binary" {
  bucket      = aws_s3_bucket.lab.id
  key         = local.binary_key
  source      = local.binary
  source_hash = local.binary_sha256

  lifecycle {
    precondition {
      condition     = local.binary_built
      error_message = "${local.binary} is missing: run make build ARCH=${var.architecture} first."
    }
  }
}

# What the driver fetches before each comparison: the topology, the commit that the binary
# was built from, the scenarios that start experiments, and for fis-start one line for each
# template, ZONE KIND ID.
resource "aws_s3_object" "lab" {
  for_each = merge({ "topology.yaml" = local.topology_file, commit = "${var.commit}\n" }, { for name, text in {
    "fis.txt"                      = join("", [for words, template in aws_fis_experiment_template.zone : "${words} ${template.id}\n"])
    "scenarios/fis-partition.yaml" = file("${path.module}/scenarios/fis-partition.yaml")
    "scenarios/fis-stop.yaml"      = file("${path.module}/scenarios/fis-stop.yaml")
  } : name => text if var.fis_enabled })

  bucket  = aws_s3_bucket.lab.id
  key     = "lab/${each.key}"
  content = each.value
}

# The token that controller and agents share. It is encrypted in Parameter Store, is
# read at boot with the instance's role, and is never in user data. It is written and
# forgotten: neither the state nor a plan has it.
resource "aws_ssm_parameter" "token" {
  name             = "/${var.name}/token"
  description      = "Bearer token of the lab's agents"
  type             = "SecureString"
  value_wo         = var.token
  value_wo_version = 1 # another value is written only with -replace
}
