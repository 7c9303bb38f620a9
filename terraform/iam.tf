# What instances may do. AmazonSSMManagedInstanceCore would let each of them read
# every parameter of the account, so what Session Manager needs is listed here.
locals {
  arn = "arn:${data.aws_partition.current.partition}"

  session_manager = {
    Sid    = "SessionManager"
    Effect = "Allow"
    Action = [
      "ssm:UpdateInstanceInformation", "ssm:ListInstanceAssociations", "ssm:UpdateInstanceAssociationStatus",
      "ssm:ListAssociations", "ssm:GetDocument", "ssm:DescribeDocument", "ssm:DescribeAssociation",
      "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel",
      "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
    ]
    Resource = "*" # these have no resource of their own
  }

  boot = [
    local.session_manager,
    {
      Sid      = "TokenAndDeadline"
      Effect   = "Allow"
      Action   = ["ssm:GetParameter"]
      Resource = [aws_ssm_parameter.token.arn, aws_ssm_parameter.deadline.arn]
    },
    {
      Sid      = "Binary"
      Effect   = "Allow"
      Action   = ["s3:GetObject"]
      Resource = "${aws_s3_bucket.lab.arn}/bin/*"
    },
  ]

  drive = [
    {
      Sid      = "Read"
      Effect   = "Allow"
      Action   = ["s3:GetObject"]
      Resource = "${aws_s3_bucket.lab.arn}/lab/*"
    },
    {
      Sid      = "Reports"
      Effect   = "Allow"
      Action   = ["s3:PutObject"]
      Resource = "${aws_s3_bucket.lab.arn}/runs/*"
    },
  ]

  experiment = [for template in local.fis_templates : template.arn]

  inject = [
    {
      Sid      = "Experiments"
      Effect   = "Allow"
      Action   = ["fis:StartExperiment"]
      Resource = concat(local.experiment, ["${local.arn}:fis:${var.region}:${data.aws_caller_identity.current.account_id}:experiment/*"])
    },
    {
      Sid      = "OwnExperiments"
      Effect   = "Allow"
      Action   = ["fis:GetExperiment", "fis:StopExperiment"]
      Resource = "${local.arn}:fis:${var.region}:${data.aws_caller_identity.current.account_id}:experiment/*"
    },
    {
      Sid      = "FindExperiments"
      Effect   = "Allow"
      Action   = ["fis:ListExperiments"]
      Resource = "*" # it has no resource of its own
    },
    {
      Sid       = "FirstExperimentOfTheAccount"
      Effect    = "Allow"
      Action    = ["iam:CreateServiceLinkedRole"]
      Resource  = "${local.arn}:iam::${data.aws_caller_identity.current.account_id}:role/aws-service-role/fis.amazonaws.com/*"
      Condition = { StringEquals = { "iam:AWSServiceName" = "fis.amazonaws.com" } }
    },
  ]

  statements = {
    host   = local.boot
    driver = concat(local.boot, local.drive, [for statement in local.inject : statement if var.fis_enabled])
  }
}

resource "aws_iam_role" "lab" {
  for_each = toset(["host", "driver"])

  name_prefix = "${var.name}-${each.key}-"
  description = "Instances of the lab ${var.name}: ${each.key}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy" "lab" {
  for_each = aws_iam_role.lab

  name = "lab"
  role = each.value.id

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = local.statements[each.key]
  })
}

resource "aws_iam_instance_profile" "lab" {
  for_each = aws_iam_role.lab

  name_prefix = "${var.name}-${each.key}-"
  role        = each.value.name
}
