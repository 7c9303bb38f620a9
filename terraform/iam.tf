# The roles, and what instances may do. AmazonSSMManagedInstanceCore would let each of
# them read every parameter of the account, so the needs of Session Manager are listed.
locals {
  account = data.aws_caller_identity.current.account_id
  place   = "${var.region}:${local.account}" # as ARNs have it

  boot_statements = [
    { Sid = "SessionManager", Effect = "Allow", Resource = ["*"], Action = [ # these have no resource of their own
      "ssm:UpdateInstanceInformation", "ssm:ListInstanceAssociations", "ssm:UpdateInstanceAssociationStatus",
      "ssm:ListAssociations", "ssm:GetDocument", "ssm:DescribeDocument", "ssm:DescribeAssociation",
      "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel",
      "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
    ] },
    { Sid = "TokenAndDeadline", Effect = "Allow", Action = ["ssm:GetParameter"], Resource = [aws_ssm_parameter.token.arn, aws_ssm_parameter.deadline.arn] },
    { Sid = "Binary", Effect = "Allow", Action = ["s3:GetObject"], Resource = ["${aws_s3_bucket.lab.arn}/bin/*"] },
  ]

  driver_statements = [
    { Sid = "Read", Effect = "Allow", Action = ["s3:GetObject"], Resource = ["${aws_s3_bucket.lab.arn}/lab/*"] },
    { Sid = "Reports", Effect = "Allow", Action = ["s3:PutObject"], Resource = ["${aws_s3_bucket.lab.arn}/runs/*"] },
  ]

  fis_statements = [
    { Sid = "Experiments", Effect = "Allow", Action = ["fis:StartExperiment"], Resource = concat(["arn:aws:fis:${local.place}:experiment/*"], [for template in aws_fis_experiment_template.zone : "arn:aws:fis:${local.place}:experiment-template/${template.id}"]) },
    { Sid = "OwnExperiments", Effect = "Allow", Action = ["fis:GetExperiment", "fis:StopExperiment"], Resource = ["arn:aws:fis:${local.place}:experiment/*"] },
    { Sid = "FindExperiments", Effect = "Allow", Action = ["fis:ListExperiments"], Resource = ["*"] }, # it has no resource of its own
    { Sid = "FirstExperimentOfTheAccount", Effect = "Allow", Action = ["iam:CreateServiceLinkedRole"], Resource = ["arn:aws:iam::${local.account}:role/aws-service-role/fis.amazonaws.com/*"], Condition = { StringEquals = { "iam:AWSServiceName" = "fis.amazonaws.com" } } },
  ]

  # Which service takes each role.
  takers = merge({ host = "ec2", driver = "ec2", scheduler = "scheduler", ssm = "ssm" }, var.fis_enabled ? { fis = "fis" } : {})
}

resource "aws_iam_role" "lab" {
  for_each = local.takers

  name_prefix = "${var.name}-${each.key}-"
  description = "The lab ${var.name}: ${each.key}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [merge(
      { Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "${each.value}.amazonaws.com" } },
      each.value == "ec2" ? {} : { Condition = { StringEquals = { "aws:SourceAccount" = local.account } } },
    )]
  })
}

resource "aws_iam_role_policy" "lab" {
  for_each = toset(["host", "driver"])

  name = "lab"
  role = aws_iam_role.lab[each.key].id

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat(local.boot_statements, [for statement in local.driver_statements : statement if each.key == "driver"], [for statement in local.fis_statements : statement if each.key == "driver" && var.fis_enabled])
  })
}

resource "aws_iam_instance_profile" "lab" {
  for_each = toset(["host", "driver"])

  name_prefix = "${var.name}-${each.key}-"
  role        = aws_iam_role.lab[each.key].name
}
